"""What follows from several audits: sweeps, comparisons, repair. Functions of files and reports; asks no oracle."""

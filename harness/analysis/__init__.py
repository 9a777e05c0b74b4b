"""What follows from several audits: sweeps, comparisons, baselines, repair. Knows files and reports; asks no oracle."""

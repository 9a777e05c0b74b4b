"""Several audits one after the other, each in a folder of its own, to be interrupted and continued: sweeps, repair."""

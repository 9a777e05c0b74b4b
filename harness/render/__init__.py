"""Reports for people and machines. Each module reads the plain data of report.json and nothing else."""

"""What the harness and the oracles exchange: values, tables, datasets, releases, and the oracle interface."""

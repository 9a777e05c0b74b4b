"""One audit from plan to verdict. Knows the oracle interface and the disk, no transport and no page."""

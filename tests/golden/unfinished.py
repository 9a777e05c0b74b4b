"""A module that fails when it is imported."""

raise RuntimeError("no licence key found")

"""Hypothesis strategies for tests of anonymizers: `tables`, `neighbours` and `hierarchies`.

@given(df=harness.strategies.tables(schema))
def test_every_class_has_k_rows(df): …
"""

from harness.testing.generating import hierarchies, neighbours, tables

__all__ = ["hierarchies", "neighbours", "tables"]

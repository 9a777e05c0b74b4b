"""A conformance kit for anonymizers: laws with stated error rates, tables that break them, and their shrinking.

`check(f, schema, claim={"k": 5})` tries all of `LAWS` and returns a `CheckReport`; `report.require()` raises with the
smallest table that breaks one.
"""

from harness.testing.checking import check, check_table
from harness.testing.claims import Claims
from harness.testing.law import Law
from harness.testing.outcome import CheckReport, LawResult
from harness.testing.run import LAWS

__all__ = ["LAWS", "CheckReport", "Claims", "Law", "LawResult", "check", "check_table"]

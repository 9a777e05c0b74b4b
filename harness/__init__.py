"""A black-box oracle verification harness for anonymizers.

`harness.audit(f, data, quasi={…}, sensitive="…", epsilon=0.1)` is the one-call door. Names are resolved when
first used, so that importing the package costs milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.dataset import Dataset, Record
    from harness.doors import audit
    from harness.errors import HarnessError, InputError, JournalError, OracleError, ReleaseError
    from harness.finding import Finding
    from harness.hierarchy import Hierarchy
    from harness.inference import Inference
    from harness.oracle import Ask, Card, Oracle
    from harness.plan import Claim, Plan
    from harness.procedure import Audit
    from harness.release import Predictions
    from harness.report import Report
    from harness.schema import Column, Schema
    from harness.table import Table
    from harness.verdict import Outcome, Verdict, judge

_HOMES = {
    "Ask": "oracle",
    "Audit": "procedure",
    "Card": "oracle",
    "Claim": "plan",
    "Column": "schema",
    "Dataset": "dataset",
    "Finding": "finding",
    "HarnessError": "errors",
    "Hierarchy": "hierarchy",
    "Inference": "inference",
    "InputError": "errors",
    "JournalError": "errors",
    "Oracle": "oracle",
    "OracleError": "errors",
    "Outcome": "verdict",
    "Plan": "plan",
    "Predictions": "release",
    "Record": "dataset",
    "ReleaseError": "errors",
    "Report": "report",
    "Schema": "schema",
    "Table": "table",
    "Verdict": "verdict",
    "audit": "doors",
    "judge": "verdict",
}

__all__ = [
    "Ask",
    "Audit",
    "Card",
    "Claim",
    "Column",
    "Dataset",
    "Finding",
    "HarnessError",
    "Hierarchy",
    "Inference",
    "InputError",
    "JournalError",
    "Oracle",
    "OracleError",
    "Outcome",
    "Plan",
    "Predictions",
    "Record",
    "ReleaseError",
    "Report",
    "Schema",
    "Table",
    "Verdict",
    "audit",
    "judge",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(import_module(f"harness.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

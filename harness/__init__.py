"""A black-box oracle verification harness for anonymizers.

`harness.audit(f, data, quasi={…}, sensitive="…", epsilon=0.1)` is the one call that does it all. Names are resolved
when first used, so that importing the package costs milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api import audit
    from harness.auditing.finding import Finding
    from harness.auditing.plan import Claim, Plan
    from harness.auditing.procedure import Audit
    from harness.auditing.verdict import Outcome, Verdict, judge
    from harness.measuring.adversary import Adversary
    from harness.measuring.divergence import distance
    from harness.measuring.encode_release import encode
    from harness.measuring.metrics.discrimination import discrimination_rate
    from harness.measuring.metrics.measure import metrics
    from harness.measuring.release_encoder import ReleaseEncoder
    from harness.report import Report
    from harness.vocabulary.dataset import Dataset, Record
    from harness.vocabulary.errors import HarnessError, InputError, JournalError, OracleError, ReleaseError
    from harness.vocabulary.hierarchy import Hierarchy
    from harness.vocabulary.oracle import Ask, Card, Oracle
    from harness.vocabulary.release import Predictions
    from harness.vocabulary.schema import Column, Schema
    from harness.vocabulary.table import Table

_HOMES = {
    "Adversary": "measuring.adversary",
    "Ask": "vocabulary.oracle",
    "Audit": "auditing.procedure",
    "Card": "vocabulary.oracle",
    "Claim": "auditing.plan",
    "Column": "vocabulary.schema",
    "Dataset": "vocabulary.dataset",
    "Finding": "auditing.finding",
    "HarnessError": "vocabulary.errors",
    "Hierarchy": "vocabulary.hierarchy",
    "InputError": "vocabulary.errors",
    "JournalError": "vocabulary.errors",
    "Oracle": "vocabulary.oracle",
    "OracleError": "vocabulary.errors",
    "Outcome": "auditing.verdict",
    "Plan": "auditing.plan",
    "Predictions": "vocabulary.release",
    "Record": "vocabulary.dataset",
    "ReleaseEncoder": "measuring.release_encoder",
    "ReleaseError": "vocabulary.errors",
    "Report": "report",
    "Schema": "vocabulary.schema",
    "Table": "vocabulary.table",
    "Verdict": "auditing.verdict",
    "audit": "api",
    "discrimination_rate": "measuring.metrics.discrimination",
    "distance": "measuring.divergence",
    "encode": "measuring.encode_release",
    "judge": "auditing.verdict",
    "metrics": "measuring.metrics.measure",
}

__all__ = [
    "Adversary",
    "Ask",
    "Audit",
    "Card",
    "Claim",
    "Column",
    "Dataset",
    "Finding",
    "HarnessError",
    "Hierarchy",
    "InputError",
    "JournalError",
    "Oracle",
    "OracleError",
    "Outcome",
    "Plan",
    "Predictions",
    "Record",
    "ReleaseEncoder",
    "ReleaseError",
    "Report",
    "Schema",
    "Table",
    "Verdict",
    "audit",
    "discrimination_rate",
    "distance",
    "encode",
    "judge",
    "metrics",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(import_module(f"harness.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

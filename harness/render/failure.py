"""Why an audit did not hold, in a few lines for the message of a failed test. Reads the plain data of report.json.

The values of a secret have neutral names here, in the order of how far they move, because test output is read by many:
which value is which is said only where it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.render.text import brief, draws_in_words, printable, unit_of
from harness.vocabulary.persons import RowNames, person_in_words

MOST_VALUES = 8

Plain = Mapping[str, Any]


def failure(report: Plain, *, reveal: bool = False) -> str:
    """Witness, adversary, distance, both predictions, and what to repeat it with."""
    verdict, claim = report["verdict"], report["plan"]["claim"]
    finding = _finding_of(report, verdict)
    facts = {
        "witness": _who(report, verdict),
        "adversary": f"{verdict['adversary']}; infers {verdict['secret']}",
        "claim": f"less than {claim['epsilon']:g}" + (f", delta = {claim['delta']:g}" if claim["delta"] else ""),
        "distance": "not measured" if finding is None else _distance(finding),
        **({} if finding is None else _predictions(report, finding, reveal)),
        "draws": draws_in_words(report),
        "seed": str(report["plan"]["seed"]),
    }
    return "\n".join(f"  {name:<10} {printable(text)}" for name, text in facts.items())


def _who(report: Plain, verdict: Plain) -> str:
    rows = RowNames(**report["plan"]["data"]["source"])
    return person_in_words(verdict["witness"], verdict["rows"], rows, is_record=unit_of(report) == "record")


def _finding_of(report: Plain, verdict: Plain) -> Plain | None:
    """What was measured of the witness; nothing where that failed."""
    key = (verdict["witness"], verdict["adversary"], verdict["secret"])
    found = (one for one in report["findings"] if (one["person"], one["adversary"], one["secret"]) == key)
    return next((one for one in found if one["failure"] is None), None)


def _distance(finding: Plain) -> str:
    if finding["exact"]:
        return f"{brief(finding['distance'])}, exact"
    return f"{brief(finding['distance'])}, from {brief(finding['lower'])} to {brief(finding['upper'])}"


def _predictions(report: Plain, finding: Plain, reveal: bool) -> dict[str, str]:
    if not finding["present"]:
        return {"with": "not in this report", "without": "not in this report"}
    present, absent = ([float(number) for number in finding[side]] for side in ("present", "absent"))
    order = sorted(range(len(present)), key=lambda value: (-abs(present[value] - absent[value]), value))
    values = next(one["values"] for one in report["plan"]["secrets"] if one["name"] == finding["secret"])
    labels = [str(values[value]) for value in order] if reveal else [f"value {n}" for n in range(1, len(order) + 1)]
    return {
        side: ", ".join(_listed(labels, [vector[value] for value in order]))
        for side, vector in (("with", present), ("without", absent))
    }


def _listed(labels: Sequence[str], probabilities: Sequence[float]) -> Iterator[str]:
    for label, probability in list(zip(labels, probabilities, strict=True))[:MOST_VALUES]:
        yield f"{label}: {probability:.4f}"
    if len(labels) > MOST_VALUES:
        yield f"and {len(labels) - MOST_VALUES} more"

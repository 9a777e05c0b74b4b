"""Reports for tests of pages: small real audits, many invented findings, and names that want to be markup."""

import copy
import functools
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.compare import compare_reports
from harness.analysis.compared_audit import compared_audit
from harness.auditing.confidential import OF_A_PERSON
from harness.render.comparison_page import comparison_page
from harness.report import Report
from harness.vocabulary.persons import RowNames
from tests.small_audits import audit, table

Plain = dict[str, Any]

HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=alert(1)>\"'`</style></script></title>]]>--><!--"
    "\x00\x1b[31m\u202eabc\u2066\ud800&lt;&amp;{{7*7}}$(id)|[a](javascript:alert(1))# *b* _c_"
)
ENDLESS = "w" * 10_000


def identity(df: pd.DataFrame) -> pd.DataFrame:
    return df


def suppressing(df: pd.DataFrame) -> pd.DataFrame:
    return df.assign(age="*", sex="*")


def noisy(df: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Some illnesses are replaced by others."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice(["flu", "ulcer", "none"], 1_000)[: len(df)]
    return df.assign(ill=np.where(rng.random(1_000)[: len(df)] < 0.5, drawn, df["ill"]))


@functools.cache
def _plain(name: str) -> Plain | None:
    if name == "violated":
        return audit(identity).complete
    if name == "holds":
        return audit(suppressing).complete
    if name == "inconclusive":
        return audit(suppressing, records=10).complete
    if name == "randomized":
        return audit(noisy, table(10), randomized=True, draws=30).complete
    if name == "persons":
        people = table(24).assign(who=[f"p{row // 2}" for row in range(24)])
        return audit(identity, people, person="who").complete
    assert name == "panel"
    return audit(
        identity, adversaries=[{}, {"model": "conditional"}, {"model": "tree", "encoder": "bounds-hot"}]
    ).complete


KINDS = ("violated", "holds", "inconclusive", "randomized", "persons", "panel")


def report(name: str) -> Plain:
    """The complete plain data of one small audit, to be changed as a test likes."""
    complete = copy.deepcopy(_plain(name))
    assert complete is not None
    return complete


def comparison(names: tuple[str, ...], *plains: Plain) -> str:
    """The page that compares audits, each of later ones with the first."""
    first, *others = reports = [Report(plain) for plain in plains]
    compared = [compare_reports(first, later) for later in others]
    audits = [compared_audit(name, one) for name, one in zip(names, reports, strict=True)]
    return comparison_page(compared, audits, RowNames(**plains[0]["plan"]["data"]["source"]))


LARGE, QUANTILES = 20_000, 1_001  # findings above which a report lists quantiles and the worst thousand


def with_findings(plain: Plain, count: int, seed: int = 0) -> Plain:
    """The same report about so many persons, with invented distances."""
    first = plain["findings"][0]
    distances = np.minimum(2.0, 10 ** np.random.default_rng(seed).normal(-2.2, 0.6, count)).tolist()
    keys = dict.fromkeys(("distance", "lower", "upper", "own_upper"), 0.0)
    few = {**first, **dict.fromkeys(OF_A_PERSON)}
    findings = [
        {
            **(first if person < 100 else few),
            "person": person,
            "rows": [person],
            "row": person,
            **dict.fromkeys(keys, one),
        }
        for person, one in enumerate(distances)
    ]
    sizes = {
        "persons": list(range(1000)),
        "covering": [5.0 + person % 90 for person in range(1000)],
        "rarest": [7] * 1000,
    }
    if count <= LARGE:
        return {**plain, "findings": findings, "class_sizes": sizes}
    (result,) = plain["results"]
    places = np.linspace(0, count - 1, QUANTILES).astype(int)
    quantiles = dict.fromkeys(("distance", "lower", "upper"), np.sort(distances)[places].tolist())
    worst = sorted(findings, key=lambda finding: -finding["distance"])[:1000]
    results = [{**result, "quantiles": quantiles, "verdict": {**result["verdict"], "examined": count}}]
    return {**plain, "findings": worst, "class_sizes": sizes, "results": results}


def hostile(plain: Plain, text: str = HOSTILE) -> Plain:
    """The same report with every name and text that a vendor or the data can choose replaced by a hostile one."""
    names: dict[str, str] = {}

    def renamed(name: str) -> str:
        return names.setdefault(name, f"{len(names)}{text}")

    for part in (
        plain["verdict"],
        *plain["results"],
        *(one["verdict"] for one in plain["results"]),
        *plain["findings"],
    ):
        part.update({key: renamed(part[key]) for key in ("adversary", "secret", "reason") if key in part})
    for part in (*plain["baselines"]["known"], *plain["baselines"]["skipped"]):
        part.update({key: renamed(part[key]) for key in ("adversary", "secret") if key in part})
    for one in (*plain["plan"]["quasi"], *plain["plan"]["secrets"]):
        one["name"] = renamed(one["name"])
    for one in plain["plan"]["secrets"]:
        one["values"] = [renamed(value) for value in one["values"]]
    for result in plain["results"]:
        result["describes"] = renamed(result["describes"])
    for finding in plain["findings"]:
        finding["rows"] = [renamed(str(row)) for row in finding["rows"]]
    plain["plan"]["data"]["source"].update(kind="row label", file=renamed("people.csv"))
    plain["oracle"]["card"].update(name=renamed("oracle"), version=renamed("1"))
    plain["notes"] = [renamed("note"), f"the oracle says: {text}"]
    plain["assumptions"] = [renamed(one) for one in plain["assumptions"]]
    if release := plain["release"]:
        for part in ("secrets", "columns"):
            release[part] = {renamed(name): value for name, value in release[part].items()}
        release["notes"] = [renamed("note of the release")]
    return plain

"""A test report for people: the sections of certificate.json as terms and values, and the same as a page of text.

Reads the plain data of certificate.json. `sections` is what a print form shows; every value is one text, in which
names that others chose are printable and not too long, but escaped for no format.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.render.text import brief, cut, share_in_words

LONGEST, LONGEST_TERM = 2_000, 60  # letters of one value, of one term
WIDTH, TERM = 80, 22  # columns of the text, and of its terms

Plain = Mapping[str, Any]
Row = tuple[str, str]


@dataclass(frozen=True)
class Section:
    """A part of a test report: its title, and rows of a term and its value."""

    title: str
    rows: tuple[Row, ...]


def sections(certificate: Plain) -> tuple[Section, ...]:
    """All parts in the order in which they are printed."""
    parts = (
        ("Conformity", _conformity(certificate)),
        ("Decision rule and risks", _decision(certificate)),
        ("Results", _results(certificate)),
        ("Limits of this report", enumerated(certificate["limits"])),
        ("Who", _who(certificate)),
        ("Item tested", _item(certificate)),
        ("Data", _data(certificate)),
        ("Dates", _dates(certificate)),
        ("Method", _method(certificate)),
        ("Adversaries", _adversaries(certificate)),
        ("Sampling and draws", _sampling(certificate)),
        ("What was noticed and assumed", _probes(certificate)),
        ("Criteria", _criteria(certificate)),
        ("What this plan could have detected", _detectable(certificate)),
        ("Accepted findings", _accepted(certificate)),
        ("Evidence", _evidence(certificate)),
        ("How to verify", enumerated(certificate["verify"])),
    )
    return tuple(
        Section(title, tuple((cut(term, LONGEST_TERM), cut(value, LONGEST)) for term, value in rows))
        for title, rows in parts
    )


def title(certificate: Plain) -> str:
    """The heading of a test report."""
    return f"Test report {cut(certificate['id'], 40)}"


def text(certificate: Plain) -> str:
    """The test report as a page for a terminal."""
    lines = [title(certificate), ""]
    for section in sections(certificate):
        lines += [section.title, *(line for row in section.rows for line in _wrapped(*row)), ""]
    return "\n".join(lines[:-1])


def enumerated(texts: Sequence[str]) -> Iterator[Row]:
    """Texts that have no term of their own, numbered."""
    for number, one in enumerate(texts, start=1):
        yield str(number), one


def _wrapped(term: str, value: str) -> list[str]:
    lines = textwrap.wrap(value, WIDTH - TERM - 3, break_on_hyphens=False) or [""]
    return [f"  {name:<{TERM}} {line}" for name, line in zip([term, *[""] * len(lines)], lines, strict=False)]


def _conformity(certificate: Plain) -> Iterator[Row]:
    conformity = certificate["conformity"]
    yield "statement", conformity["sentence"]
    yield "claim", certificate["claim"]["sentence"]
    yield "reason", conformity["reason"]
    yield "largest distance", _between(conformity)
    yield "carried by", f"{conformity['adversary']}; {conformity['secret']}"
    yield "witness", f"line of the journal with the link {conformity['witness']}"
    if conformity["share"] is not None:
        yield "of all persons", f"at most {share_in_words(conformity['share'])} do not keep the claim"


def _decision(certificate: Plain) -> Iterator[Row]:
    decision = certificate["decision"]
    for number, rule in enumerate(decision["rule"], start=1):
        yield f"rule {number}", rule
    for name in ("false acceptance", "false rejection"):
        risk = decision[name.replace(" ", "_")]
        most = "" if risk["at_most"] == 0 else "at most "
        yield name, f"probability {most}{share_in_words(risk['at_most'])}: {risk['why']}"
    yield "multiplicity", decision["multiplicity"]
    if (often := decision["different_answers_at_most"]) is not None:
        confidence = 100 * certificate["claim"]["confidence"]
        yield (
            "equal questions",
            f"got different answers in at most {share_in_words(often)} ({confidence:g} % confidence)",
        )


def _results(certificate: Plain) -> Iterator[Row]:
    for number, result in enumerate(certificate["results"], start=1):
        yield f"result {number}", _result(result)
    yield from _baselines(certificate["baselines"])
    attempts = certificate["attempts"]
    counts = attempts["calls"]
    yield "calls", _listed(counts) if counts else "not counted: the anonymizer was called as a Python function"
    if counts and "retries" in counts:
        yield "retries", f"{counts['retries']} questions were asked again after a failure that may pass"
    yield "failures", str(attempts["failures"])
    for one in attempts.get("not_measured", ()):  # none in certificates of earlier versions
        yield "not measured", f"{one['persons']}: {one['reason']}"
    yield "excluded rows", str(attempts["excluded_rows"])


def _baselines(baselines: Plain | str) -> Iterator[Row]:
    """What the same adversaries find under releases that need no anonymizer."""
    if isinstance(baselines, str):
        yield "baselines", baselines
        return
    for one in baselines["known"]:
        yield (
            f"baseline, {one['release']}",
            f"{one['adversary']}; {one['secret']}: largest {brief(one['largest'])}, mean {brief(one['mean'])} "
            f"({one['persons']} persons)",
        )
    for one in baselines["skipped"]:
        yield "no baseline", f"{one['adversary']}: {one['reason']}"


def _result(result: Plain) -> str:
    ends = f"largest {_between(result)}"
    return (
        f"{result['adversary']}; {result['secret']}: {result['outcome'].upper()}; distance {result['distance']}: "
        f"{ends}, mean {brief(result['mean'])}, deviation {brief(result['deviation'])}; draws "
        f"{', '.join(map(str, result['draws'])) or 'none'}; {result['failures']} not measured{_loss(result)}"
    )


def _loss(result: Plain) -> str:
    loss = result["privacy_loss"]
    if loss is None:
        return ""
    return f"; differential privacy claimed {brief(loss['claimed'])}, at least {brief(loss['at_least'])} shown"


def _between(limits: Plain) -> str:
    """The largest distance: a number where nothing is random, else its limits."""
    at_least, at_most = brief(limits["at_least"]), brief(limits["at_most"])
    return at_least if limits["at_least"] == limits["at_most"] else f"at least {at_least}, at most {at_most}"


def _who(certificate: Plain) -> Iterator[Row]:
    for name, value in certificate["parties"].items():
        yield name.replace("_", " "), value
    yield "release model", certificate["item"]["release_model"]
    yield "previous report", certificate["previous"] or "none stated"


def _item(certificate: Plain) -> Iterator[Row]:
    item = certificate["item"]
    yield "name", item["name"] or "not given"
    yield "version", item["version"] or "not given"
    yield "its card", _listed({name: value for name, value in item["card"].items() if value not in (None, "")})
    yield "access", item["access"]
    yield "asked", item["asked"]
    yield "operated by", item["operated_by"]
    yield "address, SHA-256", item["address_fingerprint"] or "it has no address"
    yield "identity, SHA-256", item["identity_fingerprint"]


def _data(certificate: Plain) -> Iterator[Row]:
    data = certificate["data"]
    yield "digest, SHA-256", data["digest"]
    yield "rows", f"{data['rows']:,}; {data['excluded_rows']:,} with missing cells were left out"
    yield "persons", f"{data['population']:,}; {data['unit']}"
    yield "quasi-identifiers", ", ".join(f"{one['name']} ({one['kind']})" for one in data["quasi_identifiers"])
    yield "sensitive", ", ".join(f"{one['name']} ({one['values']} values)" for one in data["sensitive"])


def _dates(certificate: Plain) -> Iterator[Row]:
    dates = certificate["dates"]
    for name in ("received", "started", "ended", "issued", "review_by"):
        yield name.replace("_", " "), dates[name] or "not stated"


def _method(certificate: Plain) -> Iterator[Row]:
    method = certificate["method"]
    yield "name", method["name"]
    yield "definition", method["definition"]
    yield "software", method["software"]
    yield "deviations", "; ".join(method["deviations"]) or "none stated"


def _adversaries(certificate: Plain) -> Iterator[Row]:
    who = certificate["adversaries"]
    yield "known columns", ", ".join(who["known_columns"])
    yield "auxiliary data", "; ".join(who["auxiliary_data"]) or "none stated"
    for number, one in enumerate(who["tried"], start=1):
        parts = ", ".join(f"{part} {_spec(one[part])}" for part in ("encoder", "model", "prior") if one[part])
        yield f"adversary {number}", one["name"] + (f": {parts}" if parts else ": what f itself predicts")


def _spec(part: Plain) -> str:
    """A part of an adversary by its class and parameters."""
    name = str(part.get("class", "")).rpartition(":")[2]
    return f"{name}({_listed(part.get('spec') or {})})"


def _sampling(certificate: Plain) -> Iterator[Row]:
    sampling, draws = certificate["sampling"], certificate["draws"]
    yield "examined", f"{sampling['examined']:,} of {sampling['population']:,}: {sampling['how']}"
    if sampling["budget"] is not None:
        yield "budget", f"{sampling['budget']:,} calls"
    yield "seed", str(draws["seed"])
    if all(result["exact"] for result in certificate["results"]):
        yield "draws", "one a side: nothing is random, so that there are no pairs of draws and no error levels"
        return
    yield "pairs", draws["pairs"]
    for look in draws["looks"]:
        yield f"look {look['number']}", f"{look['draws']:,} draws a side, error level {brief(look['alpha'])} each"


def _probes(certificate: Plain) -> Iterator[Row]:
    probes = certificate["probes"]
    yield "noticed", "; ".join(probes["noticed"]) or "nothing"
    if probes["repeated"] is not None:
        yield "repeated questions", probes["repeated"]["sentence"]
    yield "row order", "makes no difference" if probes["row_order_invariant"] else "may make a difference"
    yield from ((f"assumed {number}", one) for number, one in enumerated(probes["assumed"]))


def _criteria(certificate: Plain) -> Iterator[Row]:
    for name, value in certificate["criteria"].items():
        yield name.replace("_", " "), value


def _detectable(certificate: Plain) -> Iterator[Row]:
    for secret, one in certificate["detectable"]["by_secret"].items():
        what = "ε" if one["of"] == "distance" else "δ"
        yield f"{secret}: HOLDS", _from(f"possible for a claim with {what} of", one["holds_from"])
        yield f"{secret}: VIOLATED", _from(f"possible from a {one['of']} of", one["violated_from"])
    if (share := certificate["detectable"]["share_of_persons"]) is not None:
        yield "share of persons", f"if {share_in_words(share)} or more broke the claim, the sample would show one"


def _from(words: str, number: float | str | None) -> str:
    if number is None:
        return "not possible with these draws, or not computed for this distance"
    return "always: nothing is random, and every change is seen" if number == 0 else f"{words} {brief(number)} or more"


def _accepted(certificate: Plain) -> Iterator[Row]:
    if not certificate["accepted"]:
        yield "accepted", "none stated"
    for number, one in enumerate(certificate["accepted"], start=1):
        by = f", by {one['by']}" if one["by"] else ""
        yield f"accepted {number}", f"{one['finding']}: {one['reason']} (until {one['until']}{by})"


def _evidence(certificate: Plain) -> Iterator[Row]:
    yield "journal, last link", certificate["digests"]["journal_head"]
    yield "plan, SHA-256", certificate["digests"]["plan"]
    yield "report.json, SHA-256", certificate["digests"]["report"]
    yield "environment", _listed(certificate["environment"])


def _listed(values: Plain | Iterable[Any]) -> str:
    if isinstance(values, Mapping):
        return ", ".join(f"{name} {value}" for name, value in values.items())
    return ", ".join(map(str, values))

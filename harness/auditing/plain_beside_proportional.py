"""How much more a proportional table discloses than the plain one: two results of an audit side by side.

An adversary that reads the shares of a class (encoder "proportional") comes with one that is equal in all else but
reads only the plain cells (encoder "fill-parent"): targets look alike to both, and tables of single values too
(Proportional Representation §III). What the first finds beyond the second is what the shares disclose. Knows
results and the plan as plain data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Plain = dict[str, Any]
PROPORTIONAL, PLAIN = "proportional", "fill-parent"


def proportional_beside_plain(spec: Mapping[str, Any], results: Sequence[Plain]) -> list[Plain]:
    """For each adversary that reads shares, and each secret: the distances with shares and without."""
    measured = {(one["adversary"], one["secret"]): one for one in results if "statistics" in one}
    return [
        {
            "secret": secret,
            "adversary": reader,
            "plain_adversary": plain,
            **_numbers("", measured[reader, secret]),
            **_numbers("plain_", measured[plain, secret]),
        }
        for reader, plain in _pairs(spec["adversaries"])
        for secret in (one["name"] for one in spec["secrets"])
        if (reader, secret) in measured and (plain, secret) in measured
    ]


def _numbers(prefix: str, result: Plain) -> Plain:
    return {f"{prefix}{name}": result["statistics"][name] for name in ("largest", "mean")}


def _pairs(adversaries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The names of adversaries that differ only in whether they read shares."""
    specs = [adversary["spec"] for adversary in adversaries]
    for one in specs:
        for other in specs:
            alike = (one["model"], one["prior"]) == (other["model"], other["prior"])
            if alike and (_encoder(one), _encoder(other)) == (PROPORTIONAL, PLAIN):
                yield one["name"], other["name"]


def _encoder(adversary: Mapping[str, Any]) -> object:
    return adversary["encoder"].get("spec", {}).get("name")


def in_words(compared: Plain) -> str:
    """The comparison as a sentence for people."""
    numbers = [_brief(compared[key]) for key in ("largest", "mean", "plain_largest", "plain_mean")]
    return (
        f"{compared['secret']}: the shares of the proportional table move a record by {numbers[0]} at most (mean "
        f"{numbers[1]}), the plain table by {numbers[2]} (mean {numbers[3]})"
    )


def _brief(number: float | str) -> str:
    return number if isinstance(number, str) else f"{number:.4g}"

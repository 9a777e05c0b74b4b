"""What a report says only where it was asked to reveal it, and the same report without that. Knows plain data only.

Three things in a complete report say more about a person, or from a vendor, than a reader needs:

- what was inferred about a person with and without her own rows (`present`, `absent`, `per_value`, `changed`): whoever
  knows which probability rose, or holds the release and sees which one must have, learns her sensitive value;
- the order of the sensitive values, which is that of their first appearance in the data: the first is that of the
  first record. The values are sorted instead;
- texts that the vendor chose freely: what releases say of themselves, the names of columns that they add, and what f
  said when it failed on a person, which may also quote the data.

The journal holds all of it, and `harness verify` compiles either form again from there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from harness.vocabulary.release import without_vendor_text

Plain = dict[str, Any]
OF_A_PERSON = ("present", "absent", "per_value", "changed")  # of a finding


def withheld(complete: Mapping[str, Any]) -> Plain:
    """The report without what is confidential."""
    return {
        **complete,
        "revealed": False,
        "notes": _without_vendor_texts(complete["notes"]),
        "release": complete["release"]
        and {**complete["release"], "notes": _without_vendor_texts(complete["release"]["notes"])},
        "plan": with_sorted_values(complete["plan"]),
        "not_measured": _without_details(complete["not_measured"]),
        "findings": [{**finding, **dict.fromkeys(OF_A_PERSON)} for finding in complete["findings"]],
    }


def _without_details(not_measured: Mapping[str, Any] | None) -> Plain | None:
    """How many persons could not be measured and why, without what f said."""
    if not_measured is None:
        return None
    return {**not_measured, "reasons": [{**one, "details": None} for one in not_measured["reasons"]]}


def _without_vendor_texts(notes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(map(without_vendor_text, notes)))


def with_sorted_values(plan: Mapping[str, Any]) -> Plain:
    """The plan with the values of each secret in an order that says nothing about the data."""
    return {**plan, "secrets": [{**secret, "values": sorted(secret["values"])} for secret in plan["secrets"]]}


def plan_digest(plan: Mapping[str, Any]) -> str:
    """The SHA-256 of a plan, the same whether or not its report is revealed; the digest of the data fixes the order."""
    return hashlib.sha256(json.dumps(with_sorted_values(plan), sort_keys=True).encode()).hexdigest()

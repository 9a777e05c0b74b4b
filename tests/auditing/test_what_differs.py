"""What differs between two audits: in the words of audit.toml, each thing once, nothing confidential."""

from typing import Any

import pytest

from harness.auditing.what_differs import what_differs


def owner(**plan: Any) -> dict[str, Any]:
    quasi = [{"name": "age", "kind": "number"}]
    whole = {"claim": {"epsilon": 0.1, "delta": 0.0}, "quasi": quasi, "seed": 0, "secrets": [], "data": {"rows": 5}}
    return {"plan": {**whole, **plan}, "oracle": {"address": "python:a:f", "options": {"k": 5}}}


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"claim": {"epsilon": 0.2, "delta": 0.0}}, "[claim] epsilon: 0.1 before, 0.2 now"),
        ({"seed": 3}, "[run] seed: 0 before, 3 now"),
        ({"quasi": [{"name": "zip", "kind": "category"}]}, "[data] quasi: age (number) before, zip (category) now"),
        ({"quasi": [{"name": "age", "kind": "number", "min": 3}]}, "[data] quasi, min: nothing before, 3 now"),
        ({"data": {"rows": 6}}, "number of rows or persons: 5 before, 6 now"),
        ({"data": {"rows": 5, "digest": "abc"}}, "the content of the data"),
        ({"secrets": [{"name": "ill", "values": ["cancer"]}]}, "[data] sensitive, or its values"),
    ],
)
def test_a_part_of_the_plan_is_named_as_the_file_names_it(plan: dict[str, Any], words: str) -> None:
    assert list(what_differs(owner(), owner(**plan))) == [words]


def test_an_option_of_the_oracle_is_named_and_its_code_is_not_shown() -> None:
    other = {**owner(), "oracle": {"address": "python:a:f", "options": {"k": 6}, "identity": {"code": "abc"}}}
    assert list(what_differs(owner(), other)) == [
        "[oracle] options.k: 5 before, 6 now",
        "the code or the parameters of the anonymizer",
    ]


def test_a_thing_that_differs_in_many_places_is_named_once() -> None:
    two = [{"name": "age", "kind": "date"}, {"name": "sex", "kind": "category"}]
    assert list(what_differs(owner(), owner(quasi=two))) == [
        "[data] quasi: age (number) before, age (date), sex (category) now"
    ]

"""Generalisation trees: the three ways to write one, its laws, and the errors of a bad file."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.vocabulary.errors import InputError
from harness.vocabulary.hierarchy import Hierarchy
from harness.vocabulary.values import Interval, Reading, parse

JOBS = Hierarchy.from_nested({"ANY": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Dancer", "Writer"]}})

# Trees as nested lists of themselves, numbered into unique names by `named`.
leaf: st.SearchStrategy[list[Any]] = st.just([])
shapes = st.recursive(leaf, lambda smaller: st.lists(smaller, min_size=1, max_size=4), max_leaves=25)


def named(shape: list[Any], prefix: str = "n") -> Any:
    """A leaf for an empty list, a node with its children otherwise."""
    if not shape:
        return prefix
    return {prefix: [named(child, f"{prefix}.{place}") for place, child in enumerate(shape)]}


trees = shapes.filter(bool).map(lambda shape: Hierarchy.from_nested(named(shape)))


@st.composite
def trees_with_nodes(draw: st.DrawFn, count: int) -> tuple[Hierarchy, list[str]]:
    tree = draw(trees)
    names = sorted({*tree.nodes, *tree.leaves(tree.root)})
    return tree, [draw(st.sampled_from(names)) for _ in range(count)]


def write(folder: Path, text: str) -> Path:
    path = folder / "tree.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_node_has_its_children_parent_path_and_leaves() -> None:
    assert JOBS.root == "ANY"
    assert JOBS.children("Artist") == ("Dancer", "Writer")
    assert JOBS.children("Dancer") == ()
    assert JOBS.parent("Dancer") == "Artist"
    assert JOBS.parent("ANY") is None
    assert JOBS.path("Dancer") == ("Dancer", "Artist", "ANY")
    assert JOBS.leaves("ANY") == ("Engineer", "Lawyer", "Dancer", "Writer")
    assert JOBS.leaves("Dancer") == ("Dancer",)
    assert JOBS.nodes["Artist"] == frozenset({"Dancer", "Writer"})
    assert JOBS.lowest_common_ancestor(["Dancer", "Artist"]) == "Artist"
    assert JOBS.lowest_common_ancestor(["Dancer", "Writer", "Lawyer"]) == "ANY"


def test_levels_run_from_the_leaves_to_the_root() -> None:
    assert JOBS.levels == (JOBS.leaves("ANY"), ("Professional", "Artist"), ("ANY",))


def test_leaves_of_a_scattered_file_stand_together(tmp_path: Path) -> None:
    path = write(tmp_path, "France;Europe;*\nJapan;Asia;*\nItaly;Europe;*\n")
    tree = Hierarchy.from_csv(path)
    assert tree.leaves("*") == ("France", "Italy", "Japan")
    assert tree == Hierarchy.from_nested({"Europe": ["France", "Italy"], "Asia": ["Japan"]})


def test_equal_neighbours_are_one_node(tmp_path: Path) -> None:
    tree = Hierarchy.from_csv(write(tmp_path, "White;White;*\nBlack;Minority;*\nOther;Minority;*\n"))
    assert tree.children("*") == ("White", "Minority")
    assert tree.leaves("White") == ("White",)


def test_several_tops_get_a_root_and_a_single_one_is_the_root() -> None:
    assert Hierarchy.from_nested({"Europe": ["France"], "Asia": {"East": ["Japan"]}}).root == "*"
    assert Hierarchy.from_nested({"World": {"Europe": ["France"]}}).root == "World"


def test_numbers_may_be_leaves_of_a_nested_tree() -> None:
    assert Hierarchy.from_nested({"young": [17, 18], "old": [90]}).leaves("young") == ("17", "18")


def test_a_byte_order_mark_quotes_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    tree = Hierarchy.from_csv(write(tmp_path, '\ufeff"Smith; John";people;*\r\nRex;dogs;*\r\n'))
    assert tree.leaves("*") == ("Smith; John", "Rex")


def test_widths_make_nested_intervals() -> None:
    tree = Hierarchy.from_widths(0, 100, [5, 10, 20])
    assert tree.path("7") == ("7", "[5, 10)", "[0, 10)", "[0, 20)", "*")
    assert tree.leaves("[95, 100)") == ("95", "96", "97", "98", "99")
    assert [len(level) for level in tree.levels] == [100, 20, 10, 5, 1]


def test_the_last_interval_ends_where_the_range_ends() -> None:
    tree = Hierarchy.from_widths(0, 45, [10, 20])
    assert tree.path("44") == ("44", "[40, 45)", "*")


def test_the_nodes_of_a_tree_can_be_read_in_a_release() -> None:
    tree = Hierarchy.from_widths(0, 100, [5, 20])
    reading = Reading.of("number", range(17, 91), nodes=tree.nodes)
    cell = parse("[20, 25)", reading)
    meant = Interval(20, 25, "left")
    assert [cell.covers(age) for age in reading.domain] == [meant.covers(age) for age in reading.domain]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a;A;*\n\nb;A;*\n", "line 2: an empty line"),
        ("a;A;*\nb\n", "line 2: only one name; write the leaf"),
        ("a,A,*\n", "line 1: only one name"),
        ("a;A;*\nb;A;all\n", "line 2: ends in 'all', but others end in '*'"),
        ("a;X;A;*\nb;X;B;*\n", "line 2: 'X' lies below 'B', but elsewhere below 'A'"),
        ("a;A;*\na;B;*\n", "line 2: the leaf 'a' was already given another path"),
        ("a;A;*\nA;B;*\n", "line 2: 'A' lies below 'B', but elsewhere below '*'"),
        ("a;A;*\nA;*\n", "line 2: the leaf 'A' is an inner node elsewhere"),
        ("A;*\na;A;*\n", "line 2: 'A' is a leaf elsewhere"),
        ("a;A;a;*\n", "line 1: 'a' is above itself"),
        ("a;;*\n", "line 1: an empty name"),
        ("", "empty; give at least one leaf"),
        ("*;*\n", "line 1: only one name"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as refusal:
        Hierarchy.from_csv(path)
    assert problem in str(refusal.value)
    assert "tree.csv" in str(refusal.value)


def test_a_missing_or_foreign_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv"):
        Hierarchy.from_csv(tmp_path / "none.csv")
    path = tmp_path / "latin.csv"
    path.write_bytes("Zürich;Europe;*\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        Hierarchy.from_csv(path)


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({}, "the hierarchy: expected a list of leaves or a table of nodes"),
        ({"Europe": []}, "below 'Europe': expected a list of leaves"),
        ({"Europe": {}}, "below 'Europe': expected a list of leaves"),
        ({"Europe": "France"}, "below 'Europe': expected a list of leaves"),
        ({"Europe": [["France"]]}, "below 'Europe': expected a leaf"),
        ({"Europe": ["France"], "EU": ["France"]}, "below 'EU': the leaf 'France' was already given another"),
        ({"Europe": ["France", ""]}, "an empty name"),
    ],
)
def test_a_bad_nested_tree_is_refused_with_its_place(tree: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError) as refusal:
        Hierarchy.from_nested(tree)
    assert problem in str(refusal.value)


@pytest.mark.parametrize(
    ("low", "high", "widths", "problem"),
    [
        (0, 100, [], "at least one"),
        (0, 100, [0], "positive"),
        (0, 100, [5, 12], "larger multiple"),
        (0, 100, [5, 5], "larger multiple"),
        (100, 0, [5], "from 100 to 0"),
        (0, 10**9, [5], "at most 1,000,000"),
    ],
)
def test_bad_widths_are_refused(low: int, high: int, widths: list[int], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Hierarchy.from_widths(low, high, widths)


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(InputError, match="did you mean 'Dancer'"):
        JOBS.leaves("Dancers")
    with pytest.raises(InputError, match="its root is 'ANY'"):
        JOBS.path("42")
    with pytest.raises(InputError, match="at least one"):
        JOBS.lowest_common_ancestor([])


@given(trees_with_nodes(2))
def test_a_common_ancestor_is_one_and_does_not_depend_on_order(pair: tuple[Hierarchy, list[str]]) -> None:
    tree, (one, other) = pair
    meeting = tree.lowest_common_ancestor([one, other])
    assert meeting == tree.lowest_common_ancestor([other, one])
    assert tree.lowest_common_ancestor([one, one]) == one
    assert meeting in tree.path(one)
    assert meeting in tree.path(other)
    assert {*tree.leaves(one), *tree.leaves(other)} <= set(tree.leaves(meeting))


@given(trees_with_nodes(2))
def test_no_lower_node_holds_both(pair: tuple[Hierarchy, list[str]]) -> None:
    tree, (one, other) = pair
    meeting = tree.lowest_common_ancestor([one, other])
    for child in tree.children(meeting):
        assert child not in tree.path(one) or child not in tree.path(other)


@given(trees)
def test_the_leaves_of_every_node_stand_together(tree: Hierarchy) -> None:
    order = tree.leaves(tree.root)
    for node, leaves in tree.nodes.items():
        start = order.index(tree.leaves(node)[0])
        assert order[start : start + len(leaves)] == tree.leaves(node)
        assert leaves == set(tree.leaves(node))
        assert tree.leaves(node) == tuple(leaf for child in tree.children(node) for leaf in tree.leaves(child))


@given(trees)
def test_every_level_covers_each_leaf_once(tree: Hierarchy) -> None:
    for level in tree.levels:
        assert tuple(leaf for node in level for leaf in tree.leaves(node)) == tree.leaves(tree.root)
    assert tree.levels[0] == tree.leaves(tree.root)
    assert tree.levels[-1] == (tree.root,)


@given(tree=trees)
def test_a_tree_written_as_lines_is_the_same_tree(tmp_path_factory: pytest.TempPathFactory, tree: Hierarchy) -> None:
    lines = (";".join(tree.path(leaf)) for leaf in tree.leaves(tree.root))
    again = Hierarchy.from_csv(write(tmp_path_factory.mktemp("tree"), "\n".join(lines) + "\n"))
    assert again == tree
    assert again.leaves(again.root) == tree.leaves(tree.root)

"""How a person is called."""

from harness.vocabulary.persons import RowNames, person_in_words

LINES, ROWS, LABELS = RowNames("line", "people.csv", 2), RowNames("row", "people.parquet"), RowNames()


def test_a_record_is_called_by_its_place_in_the_source() -> None:
    assert person_in_words(3, [6], LINES, is_record=True) == "the record on line 6 of people.csv"
    assert person_in_words(3, [7], ROWS, is_record=True) == "the record in row 7 of people.parquet, counted from 0"
    assert person_in_words(3, ["p17"], LABELS, is_record=True) == "the record with row label 'p17'"
    assert person_in_words(3, [], ROWS, is_record=True) == "record 3"


def test_a_person_is_called_by_her_rows() -> None:
    assert person_in_words(0, [3], LINES, is_record=False) == "person 0 (line 3 of people.csv)"
    assert person_in_words(0, [3, 4], LABELS, is_record=False) == "person 0 (row labels 3, 4)"


def test_of_many_rows_the_first_are_named_and_the_others_counted() -> None:
    assert LINES.in_words(range(2, 30)) == "lines 2, 3, 4, 5, 6 and 23 more"

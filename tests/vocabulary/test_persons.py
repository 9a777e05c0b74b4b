"""How a person is called."""

from harness.vocabulary.persons import person_in_words, rows_in_words


def test_a_person_is_called_by_her_rows_and_a_record_by_its_row() -> None:
    assert person_in_words(0, [3], is_record=False) == "person 0 (row 3)"
    assert person_in_words(0, [3, 4], is_record=False) == "person 0 (rows 3, 4)"
    assert person_in_words(3, [7], is_record=True) == "record 7"
    assert person_in_words(3, [], is_record=True) == "record 3"
    assert rows_in_words([1, 2]) == "rows 1, 2"

"""Sizes as a person writes them."""

from typing import Any

import pytest

from harness.vocabulary.errors import InputError
from harness.vocabulary.sizes import bytes_in, written


@pytest.mark.parametrize(
    ("written", "size"),
    [(0, 0), (5, 5), ("0", 0), ("512M", 512 << 20), ("1G", 1 << 30), ("1GB", 1 << 30), (" 3 kb ", 3 << 10), ("7B", 7)],
)
def test_a_size_is_a_number_of_bytes_with_or_without_a_unit(written: Any, size: int) -> None:
    assert bytes_in(written) == size


@pytest.mark.parametrize("written", ["", "M", "1.5G", "-1", -1, True, None, 1.0, "1X", "٣M", "1 0", "1" * 30])
def test_what_is_no_size_is_refused(written: Any) -> None:
    with pytest.raises(InputError, match="expected a whole number of bytes, or one with K, M or G, such as 512M"):
        bytes_in(written)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0"), (9_999, "9999"), (10_000, "10K"), (1 << 30, "1024M"), ((1 << 30) + 1, "1025M"), (20 << 40, "20480G")],
)
def test_a_size_is_written_with_few_digits_and_never_too_small(size: int, text: str) -> None:
    assert written(size) == text
    assert bytes_in(text) >= size

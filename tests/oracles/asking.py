"""Asking an oracle in a test: its tables, their digests, or the one error that it ends with."""

from collections.abc import Generator

import pytest

from harness.vocabulary.errors import OracleError
from harness.vocabulary.oracle import Ask, Oracle
from harness.vocabulary.table import Table
from tests.oracles.filters import dataset


def tables(oracle: Oracle, ask: Ask) -> list[Table]:
    """All releases of an oracle of microdata."""
    releases = list(oracle.answer(ask))
    return [release for release in releases if isinstance(release, Table)]


def digests(oracle: Oracle, ask: Ask) -> list[str]:
    return [table.digest for table in tables(oracle, ask)]


def failure(oracle: Oracle, ask: Ask | None = None) -> OracleError:
    """The error that an ask ends with; it must end with one."""
    with pytest.raises(OracleError) as caught:
        list(oracle.answer(ask or Ask(dataset())))
    return caught.value


def leave_after_one_release(oracle: Oracle, ask: Ask) -> None:
    """Takes the first release and says that the others are not wanted, as leaving a loop does."""
    releases = iter(oracle.answer(ask))
    next(releases)
    assert isinstance(releases, Generator)
    releases.close()

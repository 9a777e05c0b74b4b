"""When persons who cannot be measured end an audit. Knows counts and reasons, no oracle.

A person on whom f fails is left out of the results, and the audit goes on: she becomes an event of the journal. But
only once f has shown after it, by answering about somebody else or about f(D), that the failure was about her. Until
then it waits. When IN_A_ROW failures wait, or one because the oracle was not reached, f(D) is asked for: if f does not
answer that either, the oracle is down. The audit then stops, nobody is accused of what the outage did, and a later run
asks about all of them again.

An audit also stops when more persons failed than it was told to accept; told nothing, when the first NOBODY_OF failed
and nobody was measured: then f(D) is answered but nothing else, and thousands of further failures would say no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from harness.auditing.events import Failed
from harness.vocabulary.errors import InputError, OracleError

IN_A_ROW = 5  # failures without an answer in between, after which f(D) is asked for
NOBODY_OF = 20  # failures without anybody measured that end an audit, unless it was told how many may fail
KEPT = "what was measured is kept"


def checked_most(most: int | None) -> int | None:
    """How many persons may fail, as it was given; None: as many as there are, while others can be measured."""
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
        raise InputError(f"max_failures must be a whole number of at least 0, not {most!r}")
    return most


def require_few(failed: Mapping[int, Failed], measured: bool, most: int | None) -> None:
    """Raises an OracleError when too many persons could not be measured for an audit to go on."""
    if most is not None and len(failed) > most:
        raise OracleError(
            f"{_counted(len(failed), 'person')} could not be measured ({reasons_in_words(failed.values())}), and "
            f"max_failures = {most} allows no more; {KEPT}: correct the cause and run it with --retry-failed, or raise "
            f"--max-failures. The first failure: {_first(failed).detail}"
        )
    if most is None and not measured and len(failed) >= NOBODY_OF:
        raise OracleError(
            f"f answers f(D), but none of the first {len(failed)} persons could be measured "
            f"({reasons_in_words(failed.values())}); correct the cause and run it with --retry-failed, or let it go on "
            f"with --max-failures and the number of persons that may fail. The first failure: {_first(failed).detail}"
        )


def oracle_down(waiting: Iterable[Failed], error: OracleError) -> OracleError:
    """The error that ends an audit whose oracle does not answer f(D) either."""
    failed = list(waiting)
    return OracleError(
        f"{_counted(len(failed), 'question')} in a row failed ({reasons_in_words(failed)}), and f(D) is not answered "
        f"any more either: {error}; {KEPT}, and the same command asks these again"
    )


def _first(failed: Mapping[int, Failed]) -> Failed:
    return next(iter(failed.values()))


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def reasons_in_words(failed: Iterable[Failed]) -> str:
    """Each reason with its number, the most frequent first: `f raised KeyError: 2; f did not answer in time: 1`."""
    return counted_reasons(Counter(each.reason for each in failed))


def counted_reasons(counts: Mapping[str, int]) -> str:
    """The same from numbers; one reason alone needs none."""
    if len(counts) == 1:
        return next(iter(counts))
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return "; ".join(f"{reason}: {count}" for reason, count in ranked)

"""What an oracle answered, checked in kind, number and shape. Knows the oracle interface, no transport and no plan.

The audit asks through this, and so does a server that offers an oracle: both refuse the same releases. What a
cell means is for `release.Reader` to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.vocabulary.errors import ReleaseError
from harness.vocabulary.oracle import Ask, Card, Oracle, Release
from harness.vocabulary.release import Predictions, as_release, checked_predictions, require_columns


def checked_answers(oracle: Oracle, ask: Ask) -> Iterator[Release]:
    """The oracle's releases: one table per draw; predictions in order of their draws, each with its share of them.

    An ask of more draws than the card allows is asked in parts; a part begins with the seed of its first draw. An
    oracle that says it is deterministic has never been asked for several draws, so it is asked for one at a time.
    Anything else than was asked for is a ReleaseError; the caller adds which question it was.
    """
    for part in parts_of(ask, most_draws(oracle.card)):
        yield from _checked_part(oracle, part)


def most_draws(card: Card) -> int | None:
    """How many draws one ask may be for; None: any number."""
    return 1 if card.randomized is False else card.max_draws


def parts_of(ask: Ask, max_draws: int | None) -> Iterator[Ask]:
    """The same question in asks of at most so many draws each, with the seeds that the draws have in the whole."""
    step = min(ask.draws, max_draws or ask.draws)
    for done in range(0, ask.draws, step):
        draws, seed = min(step, ask.draws - done), (ask.seed + done) % 2**63
        yield ask if (draws, seed) == (ask.draws, ask.seed) else replace(ask, draws=draws, seed=seed)


def _checked_part(oracle: Oracle, ask: Ask) -> Iterator[Release]:
    expected = 1 if oracle.card.releases == "predictions" else ask.draws
    count = 0
    for answer in oracle.answer(ask):
        count += 1
        if count > expected:
            raise ReleaseError(f"it sent more than {expected} releases")
        yield _checked(as_release(answer), oracle, ask)
    if count < expected:
        raise ReleaseError(f"it sent {count} releases; expected {expected}")


def _checked(release: Release, oracle: Oracle, ask: Ask) -> Release:
    """The release, if it is of the kind that the card says and has the shape that was asked for."""
    releases = oracle.card.releases
    if isinstance(release, Predictions) != (releases == "predictions"):
        other = "predictions" if isinstance(release, Predictions) else "microdata"
        raise ReleaseError(f"its card says that it releases {releases}, but it sent {other}")
    if isinstance(release, Predictions):
        return checked_predictions(release.rows, ask.draws, len(ask.data.sensitive_domain))
    require_columns(ask.data.schema, release)
    if len({len(cells.codes) for cells in release.columns}) > 1:
        raise ReleaseError("the columns of the release have different lengths")
    return release

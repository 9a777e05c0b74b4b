"""Claims that could not fail, whatever the anonymizer does: refused before the first question. Asks nobody."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.measuring.adversary import Adversary
from harness.measuring.divergence import Divergence
from harness.vocabulary.dataset import Dataset, Secret
from harness.vocabulary.errors import InputError

CERTAIN = 1 - 1e-12  # a probability that no evidence changes


def require_others(data: Dataset) -> None:
    """Refuse data of one person: without her nothing is left to compare with."""
    if data.population < 2:
        what = "record" if data.persons is None else "person"
        raise InputError(
            f"the data holds one {what} only, so that nothing is left without it and the claim could not fail; "
            f"an audit needs at least two {what}s"
        )


def require_different_values(data: Dataset, secrets: Sequence[Secret]) -> None:
    """Refuse a secret that is the same for everybody: nobody's record can say anything about it."""
    columns = data.sensitive_columns
    for secret in secrets:
        if len(np.unique(secret.codes(columns))) < 2:
            raise InputError(
                f"the sensitive column {secret.name!r} has the same value in every row, so that nothing can be "
                "inferred about it and the claim could not fail; name another column, or leave it out"
            )


def require_reachable(epsilon: float, secrets: Sequence[Secret], divergences: Sequence[Divergence]) -> None:
    """Refuse an ε that no two predictions can lie apart."""
    for secret, divergence in zip(secrets, divergences, strict=True):
        if epsilon > divergence.largest:
            raise InputError(
                f"epsilon = {epsilon:g} could not be reached: the distance {divergence.name!r} between two predictions "
                f"of {secret.name!r} is never more than {divergence.largest:g}; claim an epsilon of at most that"
            )


def require_open_minds(adversaries: Sequence[Adversary], data: Dataset, secrets: Sequence[Secret]) -> None:
    """Refuse an adversary who is certain of everybody beforehand: no release can change what it believes."""
    for adversary in adversaries:
        if any(all(_is_certain(adversary, row, secret) for row in range(data.size)) for secret in secrets):
            raise InputError(
                f"adversary {adversary.name!r}: its prior is certain of the value of every record, so that no release "
                "can change what it believes and the claim could not fail; give other values a probability above 0"
            )


def _is_certain(adversary: Adversary, row: int, secret: Secret) -> bool:
    believed = adversary.prior.weights(row, secret)
    return believed is not None and float(np.max(believed)) >= CERTAIN

"""Numerical libraries compute with one thread while an audit runs, in this process as in its workers.

With more threads scikit-learn breaks ties and rounds in another way, so that a result would depend on how many
workers there are; and workers fill the cores anyway. Whoever sets one of the usual environment variables decides
for all processes alike.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for what is computed meanwhile in this thread; some libraries count threads for each of theirs."""
    if any(name in os.environ for name in VARIABLES):
        yield
        return
    with _pools("sklearn" in sys.modules).limit(limits=1):
        yield


def environment_of_one_thread() -> dict[str, str]:
    """The variables that let a process compute with one thread; none where the user has set one of them."""
    return {} if any(name in os.environ for name in VARIABLES) else dict.fromkeys(VARIABLES, "1")


@cache
def _pools(with_scikit_learn: bool) -> Any:
    """The thread pools of the libraries that are loaded, scikit-learn's among them or not yet.

    Looking for them takes milliseconds, which is why they are remembered.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

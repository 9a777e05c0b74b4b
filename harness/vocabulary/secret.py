"""A value that is nobody's business: whatever prints or stores it sees that there is one, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Secret:
    """A value that may be a password: it is compared by a keyed digest (`auditing/keyed_digests.py`), never shown."""

    value: Any = field(repr=False)

"""How far the shard is that a journal holds, if it holds one: a shard has no verdict of its own. Asks nobody."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.auditing.journal import entries
from harness.auditing.merge import plan_digest
from harness.auditing.shard import Shard
from harness.auditing.state import AuditState
from harness.vocabulary.errors import JournalError


@dataclass(frozen=True)
class ShardProgress:
    """A shard, how many persons belong to it, and about how many of them nothing is known yet."""

    shard: Shard
    persons: int
    left: int
    unit: str  # "record" or "person"

    @property
    def is_finished(self) -> bool:
        return self.left == 0

    def __str__(self) -> str:
        if self.is_finished:
            return (
                f"shard {self.shard} of an audit, finished ({self._counted}); there is no verdict before all shards "
                "are put together: harness merge DIR… --out DIR"
            )
        return (
            f"shard {self.shard} of an audit, not finished: {self.left} of its {self._counted} are missing; run the "
            "same command again to continue"
        )

    @property
    def _counted(self) -> str:
        return f"{self.persons} {self.unit}{'' if self.persons == 1 else 's'}"


def shard_progress(journal: Path, state: AuditState) -> ShardProgress | None:
    """How far the shard of a journal is, whose events are in this state; None if it is a whole audit."""
    owner = next(entries(journal))
    declared = owner.get("shard")
    if not isinstance(declared, dict) or state.selected is None:
        return None
    number, of = declared.get("number"), declared.get("of")
    if not (isinstance(number, int) and isinstance(of, int) and 1 <= number <= of):
        raise JournalError(f"{journal}: says that it is shard {number!r:.20} of {of!r:.20}, which no audit writes")
    shard = Shard(number, of, plan_digest(owner))
    part = shard.part(state.selected.examined)
    left = sum(not state.is_examined(person, 1) and person not in state.failed for person in part)
    return ShardProgress(shard, len(part), left, "record" if state.spec["data"]["person"] is None else "person")

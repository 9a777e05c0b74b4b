"""The command prune: take out the people who break a claim, and audit again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness.api import write_whole
from harness.auditing.verdict import Outcome
from harness.cli import allow_imports_beside, tell, telling_how_to_continue
from harness.experiments.repair import PRUNE, default_budget, run_prune
from harness.render.repair import prune_page, prune_text

PAGE = "prune.html"


def prune(chosen: argparse.Namespace) -> int:
    """Repair, or continue a repair; the exit code is the outcome of the last round."""
    allow_imports_beside(chosen.file)
    out = chosen.out or Path(f"{chosen.file.stem}.prune")
    budget = default_budget(chosen.file, chosen.rounds, chosen.people, chosen.at_once)
    with telling_how_to_continue("prune", chosen.file, out):
        plain = run_prune(chosen.file, out, budget, chosen.workers, shown=not chosen.quiet)
    write_whole(out / PAGE, prune_page(plain, f"Repair of {chosen.file.name}"))
    print(json.dumps(plain, indent=1) if chosen.json else prune_text(plain))
    if not chosen.quiet:
        tell(f"the removed rows and all rounds are in {out / PRUNE}, the figure in {out / PAGE}")
    return Outcome(plain["outcome"]).exit_code

"""`python -m tests.calibration [runs]`: miss rates and widths for docs/statistics.md, in Markdown."""

import sys

from tests.calibration.laws import LAWS
from tests.calibration.simulate import ALPHA, PROCEDURES, misses_of, of_distance

DRAWS = (25, 250, 2_500)
FEWER = 5  # times, of runs with the most draws


def distances(runs: int) -> None:
    """One row for each law: how often each limit missed, of all runs, and how far they lie below and above d."""
    all_runs = sum(_runs(runs, draws) for draws in DRAWS)
    print(f"| law | d | draws | misses of {all_runs} | " + " | ".join(f"{draws:,}" for draws in DRAWS) + " |")
    print("|---" * (4 + len(DRAWS)) + "|")
    for law, d in LAWS.items():
        for coupled in (True, False):
            found = [of_distance(law, coupled, draws, _runs(runs, draws), seed=3) for draws in DRAWS]
            lower, upper = sum(one.lower for one in found), sum(one.upper for one in found)
            widths = " | ".join(f"{max(one.below, 0.0):.4f}, {one.above:.4f}" for one in found)
            kind = "coupled" if coupled else "independent"
            print(f"| {law.__name__.replace('_', ' ')} | {d:.4f} | {kind} | {lower}, {upper} | {widths} |")


def _runs(runs: int, draws: int) -> int:
    return runs // FEWER if draws == DRAWS[-1] else runs


def procedures(runs: int) -> None:
    """One row for each other procedure: how often it missed."""
    print("\n| procedure | misses | allowed |\n|---|---|---|")
    for procedure in PROCEDURES:
        print(f"| {procedure.__name__.replace('_', ' ')} | {misses_of(procedure, runs) / runs:.1%} | {ALPHA:.0%} |")


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    distances(many)
    procedures(many)

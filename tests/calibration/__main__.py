"""`python -m tests.calibration [runs]`: miss rates and widths for docs/statistics.md, in Markdown."""

import sys

from tests.calibration.laws import LAWS
from tests.calibration.simulate import ALPHA, PROCEDURES, misses_of, of_distance

DRAWS = (25, 250, 2_500)


def distances(runs: int) -> None:
    """One row for each law: misses of both limits, in percent, and how far they lie from d."""
    print(f"| law | d | draws | | lower misses | upper misses | d − lower | upper − d |  <!-- {ALPHA / 2:.0%} each -->")
    print("|---|---|---|---|---|---|---|---|")
    for law, d in LAWS.items():
        for coupled in (True, False):
            for draws in DRAWS:
                found = of_distance(law, coupled, draws, runs if draws <= 250 else runs // 5, seed=3)
                kind = "coupled" if coupled else "independent"
                rates = f"{found.lower / found.runs:.1%} | {found.upper / found.runs:.1%}"
                name = law.__name__.replace("_", " ")
                print(f"| {name} | {d:.4f} | {draws} | {kind} | {rates} | {found.below:.4f} | {found.above:.4f} |")


def procedures(runs: int) -> None:
    """One row for each other procedure: how often it missed."""
    print("\n| procedure | misses | allowed |\n|---|---|---|")
    for procedure in PROCEDURES:
        print(f"| {procedure.__name__.replace('_', ' ')} | {misses_of(procedure, runs) / runs:.1%} | {ALPHA:.0%} |")


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    distances(many)
    procedures(many)

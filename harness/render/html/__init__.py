"""report.html: one file without any request, readable with scripts off and where a policy forbids inline styles.

    document    the file: content policy, style, script, and the sections in their order
    opening     verdict, reason, meaning, decision rule and limits: the first screen
    tested      who was asked what, of whom, under which assumptions; probes of the anonymizer; calls and time
    distances   the figures of one adversary and secret: cumulative curve, histogram, (ε, δ) curve
    persons     who moves most, with both predictions; distance beside class size and rarity
    panel       adversary by adversary, secret by secret, beside the baselines
    terms       every word of the glossary that the page uses, explained where it stands and at the end
    parts       what the sections are made of: numbers that say where in report.json they stand, tables, lists

Each section is a function of `Source` and returns a `Section`, or None where there is nothing to show.
"""

from harness.render.html.document import SECTIONS, page

__all__ = ["SECTIONS", "page"]

"""What an adversary believes before seeing the release, and Bayes' rule to combine both. Knows no model.

A model answers P(s | q) under the class frequencies of the release that it was trained on. An adversary with other
beliefs divides these out and multiplies by her own: p'(s) ∝ p(s) / frequency(s) · prior(s).

What an auditor may write is listed in `names`.

A prior is declared first (`prior_named`) and then bound to the data (`for_data`), where labels, shapes and sums are
checked and what it reads from the source is aligned with the rows of D. `columns` names the columns of the source
that it reads: they need not be part of the schema, and f never sees them.

Modules: `interface` (what a prior is, Bayes' rule, and priors that need no data), `declared` (those that do) and
`names` (from what an auditor writes to a prior).
"""

from harness.measuring.prior.declared import ColumnPrior, DistributionPrior, TablePrior
from harness.measuring.prior.interface import BoundPrior, FittedPrior, Prior, PriorPerSecret, UniformPrior, posterior
from harness.measuring.prior.names import prior_named

__all__ = [
    "BoundPrior",
    "ColumnPrior",
    "DistributionPrior",
    "FittedPrior",
    "Prior",
    "PriorPerSecret",
    "TablePrior",
    "UniformPrior",
    "posterior",
    "prior_named",
]

"""All encodings of the papers: rows of a release and targets as numbers. Knows columns and cells, never a classifier.

v1 appendix A has six encodings of continuous columns and four of categorical ones: 24 pairs e_ij, named
`numbers-categories`, here as in v1's order:
    numbers      scaling  bounds  binary  quantiles-before  quantiles  tf
    categories   hot  binary  hot-cells  tf
The proportional-representation text (§II.C) adds three that place each cell in its column's hierarchy:
    one-class  fill-parent  fill-child

Number and date columns take the encoding of numbers, dates by the ordinals of their days; category and ordered columns
that of categories. What is fitted comes from D, whose domains are public: never from a release, except the list of
cells of `binary` and `hot-cells` categories. A target is encoded as the cell that says exactly its raw value would be;
only `tf` compares the cells with the target, whose own features are then ones.

Modules: `column` (one column's encoding, and tf), `axis`, `bins`, `numbers`, `categories`, `hierarchies`, then
`encoders` (whole releases) and `names` (from what an auditor writes to an encoder).
"""

from harness.measuring.encoding.bins import Bins
from harness.measuring.encoding.encoders import HierarchyEncoder, PairEncoder, QuantilesBeforeEncoder
from harness.measuring.encoding.hierarchies import PROPORTIONAL
from harness.measuring.encoding.names import ENCODINGS, encoder_named

__all__ = [
    "ENCODINGS",
    "PROPORTIONAL",
    "Bins",
    "HierarchyEncoder",
    "PairEncoder",
    "QuantilesBeforeEncoder",
    "encoder_named",
]

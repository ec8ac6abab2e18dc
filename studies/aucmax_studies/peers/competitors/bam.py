"""BAM: the squared pairwise hinge, minimised exactly. C multiplies a sum over pairs, so its grid reaches far down."""

from aucmax.papers import ALGORITHMS
from aucmax.papers.registry import powers

COMPETITOR = ALGORITHMS["BAM"]._replace(grid={"C": powers(10, -12, 2, step=2)})

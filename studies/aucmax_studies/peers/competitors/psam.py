"""PSAM: the pairwise hinge by proximal steps on random pairs."""

from aucmax.papers import ALGORITHMS
from aucmax.papers.registry import powers

COMPETITOR = ALGORITHMS["PSAM"]._replace(grid={"alpha": powers(10, -5, 2)})

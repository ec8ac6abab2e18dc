"""PSAM: the pairwise hinge by proximal steps on random pairs."""

from aucmax.algorithms import ALGORITHMS
from aucmax.algorithms.method import powers

COMPETITOR = ALGORITHMS["PSAM"]._replace(grid={"alpha": powers(10, -5, 2)})

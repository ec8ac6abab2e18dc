"""SPDAM: the exact minimiser of the pairwise square loss, by stochastic primal-dual steps; the grid of its paper."""

from aucmax.papers import ALGORITHMS

COMPETITOR = ALGORITHMS["SPDAM"]

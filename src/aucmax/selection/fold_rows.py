"""The rows of all training sets of a cross-validation, in memory.

Conventions
-----------
Z holds the n rows in r coordinates: columns divided by their scale, or those of a rotation. There are S training sets,
the splits of all rounds. A *part* is a set of rows that splits are made of. Sums over training sets are sums over their
parts, so one pass over the rows serves all splits of a round.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..data.protocol import Round, Targets


class FoldRows:
    """The rows of the training sets of all splits.

    Parameters
    ----------
    Z : ndarray or CSR of shape (n, r), or what multiplies like them
        The rows.
    targets : Targets
        Their classes and weights.
    rounds : sequence of Round
        The splits.
    variances : ndarray of shape (r,), default=None
        The variances of the coordinates, if these are uncorrelated or too many for a matrix.

    Attributes
    ----------
    totals : ndarray of shape (S, 2)
        The weight of each class in each training set.
    weights : ndarray of shape (S, n)
        The weight of each row in each training set; they sum to one half in each class.
    """

    def __init__(self, Z: Any, targets: Targets, rounds: Sequence[Round], variances: np.ndarray | None = None) -> None:
        self.Z, self.positive, self.rounds, self.variances = Z, targets.positive, rounds, variances
        self.weighted = targets.sample_weight is not None
        self.sample_weight = np.ones(Z.shape[0]) if targets.sample_weight is None else targets.sample_weight
        self.members = [membership(round) for round in rounds]
        masses = np.concatenate([m[:, round.parts] for m, round in zip(self.members, rounds, strict=True)])
        masses *= self.sample_weight
        self.totals = np.stack([masses @ ~self.positive, masses @ self.positive], axis=1)
        self.weights = masses * np.where(self.positive, 0.5 / self.totals[:, 1:], 0.5 / self.totals[:, :1])

    @cached_property
    def single(self) -> tuple[Any, Any]:
        """Z in single precision, and its transpose if Z is a matrix."""
        Z = self.Z.astype(np.float32)
        return Z, Z.T.tocsr() if sparse.issparse(Z) else Z.T if isinstance(Z, np.ndarray) else None

    @cached_property
    def means(self) -> np.ndarray:
        """The class means of the training sets, shape (S, 2, r)."""
        both = 2 * self.weights
        return np.stack([both * ~self.positive @ self.Z, both * self.positive @ self.Z], axis=1)

    @cached_property
    def covariances(self) -> np.ndarray:
        """The class covariances of the training sets, shape (S, 2, r, r)."""
        found, r = [], self.Z.shape[1]
        for members, round in zip(self.members, self.rounds, strict=True):
            cells = 2 * round.parts.astype(np.int64) + self.positive
            order = np.argsort(cells, kind="stable")
            edges = np.searchsorted(cells[order], np.arange(2 * round.n_parts + 1))
            ordered = self.Z[order]
            if self.weighted:
                ordered *= np.sqrt(self.sample_weight[order])[:, None]
            blocks = [ordered[start:stop] for start, stop in itertools.pairwise(edges)]
            sums = np.array([block.T @ block for block in blocks])
            found.append(np.tensordot(members, sums.reshape(round.n_parts, 2, r, r), 1))
        squares = np.concatenate(found) / self.totals[:, :, None, None]
        squares -= self.means[..., :, None] * self.means[..., None, :]
        return squares

    @cached_property
    def covariance(self) -> np.ndarray:
        """The covariance of all rows, shape (r, r)."""
        share = self.sample_weight / self.sample_weight.sum()
        root = np.sqrt(share).astype(np.float32)[:, None] * self.single[0]
        return (root.T @ root).astype(np.float64)


def membership(round: Round) -> np.ndarray:
    """Return which parts are in the training set of each split, as 0 and 1, shape (n_splits, n_parts)."""
    members = np.zeros((len(round.splits), round.n_parts))
    for k, split in enumerate(round.splits):
        members[k, list(split.train)] = 1.0
    return members

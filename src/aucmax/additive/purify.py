"""Surfaces without main effects: what a surface says about one of its columns alone belongs to the column's curve.

Many curves and surfaces have the same sum. Those are shown in which each curve has the mean 0 over the training rows,
and each surface too over the rows of each of its lines: with the weight W of the cells of a surface F,

    sum_j W_ij F_ij = 0 for each i,     sum_i W_ij F_ij = 0 for each j.

The main effects a_i + b_j that are taken from F for it are those of least squares, weighted by W, and they are added to
the curves of the two columns (Lengerich, Tan, Chang, Hooker and Caruana, 2020, Purifying interaction effects). The
score of a row does not change, unless one of two columns has a value that is not known: then its surface counts as the
mean over this column.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from .terms import Term, edges_of


def main_effects(W: np.ndarray) -> np.ndarray:
    """Return the matrix that gives the main effects (a, b) of a surface, shape (A + B, A * B).

    Parameters
    ----------
    W : ndarray of shape (A, B)
        The weight of each cell.
    """
    A, B = W.shape
    G = np.diag(np.append(W.sum(axis=1), W.sum(axis=0)))
    G[:A, A:], G[A:, :A] = W, W.T
    sums = np.vstack([np.repeat(np.eye(A), B, axis=1), np.tile(np.eye(B), A)]) * W.ravel()
    return np.linalg.pinv(G, hermitian=True) @ sums


def purification(terms: Sequence[Term], mass: np.ndarray) -> sparse.csr_array:
    """Return the matrix that moves the main effects of surfaces to the curves, shape (K, K).

    Parameters
    ----------
    terms : sequence of Term
        The terms; that of column j is terms[j].
    mass : ndarray of shape (K,)
        The weight of the training rows in each cell.
    """
    edges = edges_of(terms)
    moved = sparse.lil_array((len(mass), len(mass)))
    for term, start, stop in zip(terms, edges[:-1], edges[1:], strict=True):
        if len(term.columns) == 1:
            continue
        effects = main_effects(mass[start:stop].reshape(term.shape))
        sides = np.split(effects, [term.shape[0]])
        for column, groups, side in zip(term.columns, term.groups, sides, strict=True):
            moved[edges[column] : edges[column + 1], start:stop] = side[groups]
        first, second = np.divmod(np.arange(stop - start), term.shape[1])
        moved[start:stop, start:stop] = -(sides[0][first] + sides[1][second])
    return sparse.eye_array(len(mass), format="csr") + moved.tocsr()


def means_of(terms: Sequence[Term], mass: np.ndarray) -> sparse.csr_array:
    """Return the matrix that gives the mean of each term over the training rows, shape (n_terms, K)."""
    edges = edges_of(terms)
    totals = [float(mass[a:b].sum()) for a, b in itertools.pairwise(edges)]
    shares = [mass[a:b] / (total or 1.0) for (a, b), total in zip(itertools.pairwise(edges), totals, strict=True)]
    places = np.repeat(np.arange(len(terms)), np.diff(edges))
    return sparse.csr_array((np.concatenate(shares), (places, np.arange(len(mass)))), shape=(len(terms), len(mass)))


def centring(terms: Sequence[Term], mass: np.ndarray) -> sparse.csr_array:
    """Return the matrix that makes the mean of each term 0, shape (K, K)."""
    repeated = np.repeat(np.arange(len(terms)), np.diff(edges_of(terms)))
    return sparse.eye_array(len(mass), format="csr") - means_of(terms, mass)[repeated]


def standard_errors(change: sparse.csr_array, covariance: np.ndarray) -> np.ndarray:
    """Return the standard errors of changed values, given the covariance of those before the change."""
    return np.sqrt(np.maximum(change.multiply(change @ covariance).sum(axis=1), 0.0))

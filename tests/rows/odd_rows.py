"""A deliberately odd class behind the protocol of rows: rows in a shuffled list of small chunks.

It knows the protocol from its documentation alone, and shares no code with the classes of the package. Some chunks are
of one class only, and some are empty. Vectors do what the protocol promises and nothing else, and there is no attribute
`X`: code that takes a vector for an array, or reads a member that the protocol does not have, fails. Its samples are
one chunk, whose vectors are arrays.

Rows have an order, which samples follow. So each chunk holds consecutive rows; the chunks are stored and
visited in a shuffled order, and what is made of them is merged in the order of the rows.
"""

import functools
import itertools
import operator
from functools import cached_property

import numpy as np
from scipy import sparse

from aucmax import ClassMoments
from aucmax.rows.folds import SAMPLE, permute
from aucmax.rows.protocol import Targets
from aucmax.rows.summaries.ranking import aucs_of_scores
from aucmax.rows.summaries.scores import ScoreHistogram
from aucmax.rows.validate import check_class_weights


class ChunkVector:
    """One entry for each row, or one object for each chunk, in the order in which chunks are stored."""

    __array_ufunc__ = None  # a number of NumPy times a vector is a vector

    def __init__(self, chunks):
        self._chunks = chunks

    def __add__(self, other):
        return self._joined(operator.add, other)

    def __sub__(self, other):
        return self._joined(operator.sub, other)

    def __neg__(self):
        return ChunkVector([-chunk for chunk in self._chunks])

    def __rmul__(self, number):
        if np.ndim(number):
            return NotImplemented
        return ChunkVector([number * chunk for chunk in self._chunks])

    def __matmul__(self, other):
        return float(sum(self._joined(operator.matmul, other)._chunks))

    def _joined(self, function, other):
        if not isinstance(other, ChunkVector):
            raise TypeError(f"A vector meets other vectors, not {type(other).__name__}.")
        return ChunkVector([function(a, b) for a, b in zip(self._chunks, other._chunks, strict=True)])


class ChunkSpace:
    """Vectors in chunks.

    Parameters
    ----------
    positive : list of ndarray of bool
        Which rows are positive, chunk by chunk in the order of the rows.
    weights : list of ndarray, default=None
        Their weights.
    groups : list of ndarray, default=None
        Their groups.
    """

    pair_sums = None

    def __init__(self, positive, weights=None, groups=None):
        self.positive, self.weights, self.groups = positive, weights, groups
        self.places = np.random.default_rng(len(positive)).permutation(len(positive))  # where each chunk is stored
        self.stored = np.argsort(self.places)  # which chunk is stored there

    @property
    def n_rows(self):
        return sum(map(len, self.positive))

    @property
    def usable(self):
        if self.weights is None:
            return [np.ones(len(positive), dtype=bool) for positive in self.positive]
        return [weights > 0 for weights in self.weights]

    @cached_property
    def counts(self):
        chunks = zip(self.positive, self.usable, strict=True)
        return sum(np.array([np.sum(usable & ~positive), np.sum(usable & positive)]) for positive, usable in chunks)

    @cached_property
    def totals(self):
        if self.weights is None:
            return self.counts.astype(float)
        chunks = zip(self.positive, self.weights, strict=True)
        return sum(np.array([weights[~positive].sum(), weights[positive].sum()]) for positive, weights in chunks)

    @cached_property
    def chunk_targets(self):
        """The targets of each chunk, as stored."""
        return [
            Targets(
                self.positive[k],
                None if self.weights is None else self.weights[k],
                self.totals,
                None if self.groups is None else self.groups[k],
            )
            for k in self.stored
        ]

    def vector(self, chunks):
        """Return a vector of chunks that come in the order of the rows."""
        return ChunkVector([chunks[k] for k in self.stored])

    def check_memory(self, what, n_bytes, advice):
        assert n_bytes < 1e9, (what, advice)

    def chunks(self, vector):
        """Return the chunks of a vector in the order of the rows."""
        assert isinstance(vector, ChunkVector)
        return [vector._chunks[place] for place in self.places]

    def map(self, function, *vectors):
        return ChunkVector(
            [function(*entries) for entries in zip(self.chunk_targets, *(v._chunks for v in vectors), strict=True)]
        )

    def reduce(self, function, *vectors, merge=operator.add):
        return functools.reduce(merge, self.chunks(self.map(function, *vectors)))

    def accumulate(self, empty, add, *vectors, merge=operator.add):
        """Begin a summary for every second chunk, and merge them."""
        begun = []
        targets = self.chunks(self.map(lambda targets: targets))
        for k, entries in enumerate(zip(targets, *(self.chunks(v) for v in vectors), strict=True)):
            if k % 2 == 0:
                begun.append(empty())
            add(begun[-1], *entries)
        return functools.reduce(merge, begun)

    def aucs(self, *scores):
        return aucs_of_scores(self, *scores)

    def ranks(self):
        """Return, chunk by chunk, the rank of each usable row among those of its class; -1 for the others."""
        seen, ranks = np.zeros(2, dtype=int), []
        for positive, usable in zip(self.positive, self.usable, strict=True):
            own = np.full(len(positive), -1)
            for c, side in enumerate((usable & ~positive, usable & positive)):
                own[side] = seen[c] + np.arange(side.sum())
                seen[c] += side.sum()
            ranks.append(own)
        return ranks


class OddRows(ChunkSpace):
    """Rows in chunks.

    Parameters
    ----------
    matrices : list of ndarray or CSR
        The rows, chunk by chunk in their order.
    classes : ndarray of shape (2,)
        The negative and the positive label.
    positive, weights, groups : list of ndarray
        See :class:`ChunkSpace`.
    feature_names : list of str, default=None
        The names of the columns.
    """

    in_memory = False
    reading = None
    more_memory = "cut smaller chunks"

    def __init__(self, matrices, classes, positive, weights=None, groups=None, feature_names=None):
        super().__init__(positive, weights, groups)
        self.matrices, self.classes, self.feature_names = matrices, classes, feature_names
        self.is_sparse = sparse.issparse(matrices[0])

    @classmethod
    def of(cls, X, y, sample_weight=None, groups=None, seed=0):
        """Cut rows into chunks, of which some are empty, and those of one row are of one class."""
        sizes = np.random.default_rng(seed).choice([0, 1, 2, 20, 60], len(y) + 2)
        edges = [*(edge for edge in np.cumsum([0, 1, 0, *sizes]) if edge < len(y)), len(y), len(y)]
        slices = [slice(*pair) for pair in itertools.pairwise(edges)]

        def cut(values):
            return None if values is None else [values[part] for part in slices]

        classes = np.unique(y)
        return cls(cut(X), classes, cut(y == classes[1]), cut(sample_weight), cut(groups))

    @cached_property
    def totals(self):
        totals = super().totals
        check_class_weights(totals, self.classes)
        return totals

    @property
    def n_features(self):
        return self.matrices[0].shape[1]

    @property
    def row_length(self):
        return sum(X.nnz for X in self.matrices) / self.n_rows if self.is_sparse else float(self.n_features)

    def prefetch(self, fit, moments=False, columns=False, values=None):
        pass

    def put_away(self, array):
        return array

    def as_table(self):
        return self

    def labels(self):
        """Return the label of each row, chunk by chunk."""
        return [self.classes[positive.astype(int)] for positive in self.positive]

    # From columns to scores and back

    def scores(self, w):
        return self.vector([X @ w for X in self.matrices])

    def as_vector(self, values):
        edges = np.cumsum([len(positive) for positive in self.positive])[:-1]
        return self.vector(np.split(values, edges))

    def rmatvec(self, g, center=None):
        pairs = list(zip(self.matrices, self.chunks(g), strict=True))
        product = sum(X.T @ entries for X, entries in pairs)
        total = sum(entries.sum(axis=0) for _, entries in pairs)
        return product if center is None else product - np.multiply.outer(center, total)

    def score_histogram(self, w, moments=None):
        return ScoreHistogram.of(self, self.scores(w), moments)

    # Summaries of the columns

    def moments(self):
        moments, labels = ClassMoments(self.n_features, self.classes), self.labels()
        for k in self.stored:
            if len(labels[k]):
                moments.update(self.matrices[k], labels[k], None if self.weights is None else self.weights[k])
        return moments

    def column_statistics(self):
        means, variances = np.zeros((2, self.n_features)), np.zeros((2, self.n_features))
        matrices = [X.toarray() if self.is_sparse else X for X in self.matrices]
        pair_weights = self.chunks(self.map(lambda targets: targets.pair_weights))
        sides = [[positive == c for positive in self.positive] for c in (False, True)]
        for c, side in enumerate(sides):
            chunks = list(zip(matrices, pair_weights, side, strict=True))
            means[c] = sum(weights[own] @ X[own] for X, weights, own in chunks)
            variances[c] = sum(weights[own] @ (X[own] - means[c]) ** 2 for X, weights, own in chunks)
        return means, variances

    def gather(self, name, empty, add, merge):
        """Begin a summary for every chunk."""
        targets = self.chunks(self.map(lambda targets: targets))
        begun = [empty() for _ in targets]
        for summary, X, its_targets in zip(begun, self.matrices, targets, strict=True):
            add(summary, X, its_targets)
        return functools.reduce(merge, begun)

    # Other views of the same rows

    def select(self, masks):
        """Return some of the rows, by a mask for each chunk."""

        def cut(chunks):
            return None if chunks is None else [chunk[mask] for chunk, mask in zip(chunks, masks, strict=True)]

        columns = cut(self.matrices), self.classes, cut(self.positive), cut(self.weights), cut(self.groups)
        return type(self)(*columns, self.feature_names)

    def sample(self, n_each):
        masks = []
        for ranks, positive in zip(self.ranks(), self.positive, strict=True):
            mask = np.zeros(len(ranks), dtype=bool)
            for c, side in enumerate((~positive & (ranks >= 0), positive & (ranks >= 0))):
                mask[side] = permute(ranks[side], int(self.counts[c]), SAMPLE) < n_each
            masks.append(mask if self.counts.max() > n_each else np.ones(len(ranks), dtype=bool))
        chosen = self.select(masks)

        def joined(chunks):
            return None if chunks is None else [np.concatenate(chunks)]

        X = sparse.csr_array(sparse.vstack(chosen.matrices)) if self.is_sparse else np.vstack(chosen.matrices)
        return OneChunk([X], self.classes, joined(chosen.positive), joined(chosen.weights), joined(chosen.groups))

    def gram(self, scale):
        Z = np.vstack([X.toarray() if self.is_sparse else X for X in self.matrices]) / scale
        Z = Z - Z.mean(axis=0)
        return Z @ Z.T

    def columns(self, columns):
        names = None if self.feature_names is None else [self.feature_names[j] for j in columns]
        matrices = [X[:, columns] for X in self.matrices]
        return type(self)(matrices, self.classes, self.positive, self.weights, self.groups, names)

    def reweighted(self, weights):
        return type(self)(
            self.matrices, self.classes, self.positive, self.chunks(weights), self.groups, self.feature_names
        )

    def shifted(self, shift):
        dense = [(X.toarray() if self.is_sparse else X) - shift for X in self.matrices]
        matrices = [sparse.csr_array(X) for X in dense] if self.is_sparse else dense
        return type(self)(matrices, self.classes, self.positive, self.weights, self.groups, self.feature_names)

    def mapped(self, change, n_features):
        matrices = [change(X) for X in self.matrices]
        return type(self)(matrices, self.classes, self.positive, self.weights, self.groups)

    # The stochastic algorithms

    def iterate(self, name, state, prepare, step, again):
        targets = self.chunks(self.map(lambda targets: targets))
        while True:
            for X, its_targets in zip(self.matrices, targets, strict=True):
                step(state, prepare(X, its_targets))
            if not again(state):
                return state


class OneChunk(OddRows):
    """Rows in memory: one chunk, whose vectors are arrays."""

    in_memory = True

    @property
    def targets(self):
        return self.chunk_targets[0]

    def vector(self, chunks):
        return chunks[0]

    def chunks(self, vector):
        return [vector]

    def map(self, function, *vectors):
        return function(self.targets, *vectors)

    def values(self):
        return self.matrices[0].toarray() if self.is_sparse else self.matrices[0]

    def matrix(self, scale, center=None):
        if center is None and self.is_sparse:
            return sparse.csr_array(self.matrices[0] @ sparse.diags_array(1 / scale))
        return (self.values() if center is None else self.values() - center) / scale

    as_operator = matrix

    def subset(self, parts, chosen):
        return self.select([np.isin(parts, chosen)])

    def take(self, rows):
        return self.select([np.isin(np.arange(self.n_rows), rows)])

    def sample(self, n_each):
        return self if self.counts.max() <= n_each else super().sample(n_each)

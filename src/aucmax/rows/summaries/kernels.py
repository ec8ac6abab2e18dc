"""The compiled loops of this folder: columns and outer products of rows, ranks among sorted scores, binned scores."""

import math

import numpy as np

from ..._compat import jit

# A value is an integer of 53 bits times a power of 2. These integers are summed for each exponent, the HALF lower bits
# and the rest apart; frexp has exponents from -1073 to 1024.
HALF, OFFSET, N_EXPONENTS = 27, 1073, 2098
ROWS = 256  # summed before their mean is merged with the mean of earlier rows


@jit
def add_outer_products(data, indices, indptr, weights, S):
    """Add weights[r] * v v' of each CSR row v to the upper triangle of S.

    The column indices of a row must be sorted. The cost of a row is half the square of its number of nonzeros, whatever
    the number of columns.
    """
    for r in range(weights.shape[0]):
        start, stop = indptr[r], indptr[r + 1]
        for a in range(start, stop):
            j = indices[a]
            v = weights[r] * data[a]
            for b in range(a, stop):
                k = indices[b]
                S[j, k] += v * data[b]


@jit
def dense_columns(X, positive, weights, weight, means, squares):
    """Add the rows to the weight of the classes, the means of the columns and their centred sums of squares.

    All three are 0 at the start. Rows are shifted by the means so far, and at first by the first row of their class, so
    that nothing cancels and a column that is constant has a square of exactly 0 (Chan, Golub and LeVeque, 1979).
    """
    n, d = X.shape
    first, more = np.ones(2, dtype=np.bool_), np.empty(2)
    rest, rest_squares = np.empty((2, d)), np.empty((2, d))
    for start in range(0, n, ROWS):
        for c in range(2):
            more[c] = 0.0
            for j in range(d):
                rest[c, j] = rest_squares[c, j] = 0.0
        for i in range(start, min(start + ROWS, n)):
            own = np.uint64(positive[i])
            w = 1.0 if weights is None else weights[i]
            if w == 0.0:
                continue
            if first[own]:
                first[own] = False
                for j in range(d):
                    means[own, j] = X[i, j]
            more[own] += w
            x, m, sums, square_sums = X[i], means[own], rest[own], rest_squares[own]
            for j in range(d):
                z = x[j] - m[j]
                sums[j] += w * z
                square_sums[j] += w * z * z
        for c in range(2):
            if more[c] > 0.0:
                total = weight[c] + more[c]
                for j in range(d):
                    step = rest[c, j] / more[c]
                    means[c, j] += step * (more[c] / total)
                    within = max(rest_squares[c, j] - step * rest[c, j], 0.0)
                    squares[c, j] += within + step * step * (weight[c] * more[c] / total)
                weight[c] = total


@jit
def csr_columns(data, indices, indptr, positive, weights, weight, means, squares):
    """Do as `dense_columns` from the stored values alone.

    Those of a column in a class are shifted by the first of them. In the end they are merged with the zeros.
    """
    d = means.shape[1]
    sums = np.zeros((2, d, 4))  # the shift, the weight, and the sums of shifted values and of their squares
    for i in range(positive.shape[0]):
        own = np.uint64(positive[i])
        w = 1.0 if weights is None else weights[i]
        if w > 0.0:
            weight[own] += w
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):  # unsigned: a quarter less time
                column = sums[own, np.uint64(indices[k])]
                if column[1] == 0.0:
                    column[0] = data[k]
                z = data[k] - column[0]
                column[1] += w
                column[2] += w * z
                column[3] += w * z * z
    for c in range(2):
        for j in range(d):
            shift, stored, rest, square = sums[c, j]
            if stored > 0.0:
                mean = shift + rest / stored
                zeros = max(weight[c] - stored, 0.0)  # their weight
                means[c, j] = mean * (stored / weight[c])
                squares[c, j] = max(square - rest * (rest / stored), 0.0) + mean * mean * (stored * zeros / weight[c])


@jit
def sum_below(values, chosen, weights, knots, below, terms=None):
    """Return the sum over the chosen values of weight * (below[left] + below[right]), and of the weights.

    If there is an array `terms`, it is filled with the terms of the first sum.

    left is the number of knots below a value, and right the number of knots not above it. The knots are distinct and
    increasing. There is one knot fewer than entries of `below`, and three infinities follow the last knot; everything
    else is finite. Without weights (None), and if `below` holds integers, the sums are integers.

    A value is looked up in a table of equal cells between the lowest and the highest knot. Even with rounding, the cell
    is a nondecreasing function of the value. Knots of earlier cells are therefore below the value, and knots of later
    cells above it: `first` counts the former, and only one cell has to be searched. Most cells hold three knots or
    fewer, which are compared without a branch; a cell with more is bisected.
    """
    n_knots = below.shape[0] - 1
    lowest, highest = knots[0], knots[n_knots - 1]
    half_range = 0.5 * highest - 0.5 * lowest  # half of it, since the range itself may overflow
    n_cells = 2 * n_knots
    scale = n_cells / half_range if half_range > 1e-290 else 0.0  # a denormal range: all in one cell

    first = np.zeros(n_cells + 2, dtype=np.uint32)  # unsigned: signed indices would take a third more time
    for k in range(n_knots):
        first[int((0.5 * knots[k] - 0.5 * lowest) * scale) + 1] += 1
    for c in range(n_cells + 1):
        first[c + 1] += first[c]

    total = weight = 0 * below[0]
    for i in range(values.shape[0]):
        if chosen[i]:
            v = values[i]
            c = int((0.5 * min(max(v, lowest), highest) - 0.5 * lowest) * scale)
            left = np.int64(first[c])
            if knots[left + 3] < v:
                stop = np.int64(first[c + 1])
                while left < stop:
                    middle = (left + stop) // 2
                    if knots[middle] < v:
                        left = middle + 1
                    else:
                        stop = middle
            else:
                left += (knots[left] < v) + (knots[left + 1] < v) + (knots[left + 2] < v)
            right = left + (knots[left] == v)
            w = 1 if weights is None else weights[i]
            term = w * (below[left] + below[right])
            total += term
            weight += w
            if terms is not None:
                terms[i] = term
    return total, weight


@jit
def add_exactly(values, sums):
    """Add the integers of the values to the sums of their exponents; see `ranking.exact_sum`."""
    for i in range(values.shape[0]):
        mantissa, exponent = math.frexp(values[i])
        whole = np.int64(mantissa * 2.0**53)
        sums[exponent + OFFSET, 0] += whole >> HALF
        sums[exponent + OFFSET, 1] += whole & ((1 << HALF) - 1)


@jit
def bin_columns(scores, positive, weights, low, scale, mass):
    """Add the weight of each row to the two points of a grid next to each of its scores (`scores.ScoreGrid`)."""
    n_bins = mass.shape[2] - 1
    for i in range(scores.shape[0]):
        c, w = np.uint64(positive[i]), 1.0 if weights is None else weights[i]
        for k in range(scores.shape[1]):
            place = min(max((scores[i, k] - low[k]) * scale[k], 0.0), n_bins * (1.0 - 1e-15))
            if not np.isnan(place):
                cell = np.uint64(place)
                right = place - cell
                mass[k, c, cell] += w * (1.0 - right)
                mass[k, c, cell + np.uint64(1)] += w * right

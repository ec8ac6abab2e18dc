"""Short cards: merged lines, and the best values of the others, as quadratic programmes with constraints."""

import itertools

import numpy as np
import pytest
from additive_data import Problem, mixed_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from aucmax.tables.fitting import merging
from aucmax.tables.fitting.evidence import find_mode, find_strengths
from aucmax.tables.fitting.ladder import start_card
from aucmax.tables.fitting.merging import Merging, by_column, coarsen
from aucmax.tables.terms import show

X, Y = mixed_rows()
WEIGHTS = np.random.default_rng(1).integers(1, 4, len(Y)).astype(float)
PROBLEM = Problem(X, Y, weights=WEIGHTS)
COLUMNS, CODES = PROBLEM.columns, PROBLEM.rows.values()


def fit_of(problem):
    system = problem.system(problem.design.curves)
    return find_mode(system, find_strengths(system), 1e-10, 50)[0]


FIT = fit_of(PROBLEM)
SCORES = FIT.score(CODES)
H = WEIGHTS * expit(SCORES) * (1 - expit(SCORES))
RIDGE = merging.RIDGE * WEIGHTS[WEIGHTS > 0].mean()


def fresh(problem=PROBLEM, fit=FIT):
    return start_card(problem.rows, fit, problem.design)


def matrix_of(line):
    """Return which line of which column each row is in, and a constant."""
    cells = [lines[CODES[:, j]] for j, lines in enumerate(by_column(COLUMNS, line))]
    k = int(line.max()) + 1
    found = np.zeros((len(CODES), k + 1))
    for ours in cells:
        found[np.flatnonzero(ours >= 0), ours[ours >= 0]] = 1
    found[:, k] = 1
    return found


def centers_of(card, fit=FIT, h=H):
    """Return the mean value of the curves in each line, and 0 for the constant."""
    cells = [np.bincount(block.term.cells(CODES), WEIGHTS, block.term.n_cells) for block in fit.blocks]
    curves = show(fit.blocks, fit.coordinates, [mass / mass.sum() for mass in cells]).values[: len(COLUMNS)]
    masses = np.concatenate([np.bincount(CODES[:, j], h, column.n_codes) for j, column in enumerate(COLUMNS)])
    sums = [np.bincount(card.line, each) for each in (masses * np.concatenate(curves), masses)]
    return np.append(sums[0] / sums[1], 0)


CENTERS = centers_of(fresh())


def best_card(D, constraints):
    """Return the least squares of a card whose values f satisfy d'f = 0 for each constraint, and f."""
    k = D.shape[1] - 1
    J = D.T @ (H[:, None] * D) + RIDGE * np.diag(np.append(np.ones(k), 0))
    A = np.atleast_2d(constraints)
    kkt = np.block([[J, A.T], [A, np.zeros((len(A), len(A)))]])
    b = D.T @ (H * SCORES) + RIDGE * CENTERS
    f = np.linalg.lstsq(kkt, np.append(b, np.zeros(len(A))), rcond=None)[0][: k + 1]
    return float(H @ (SCORES - D @ f) ** 2 + RIDGE * np.sum((f - CENTERS)[:k] ** 2)) / 2, f


def test_the_first_values_are_penalised_least_squares_of_the_scores():
    card = fresh()
    f = best_card(matrix_of(card.line), np.zeros((0, len(card.f))))[1]
    assert_allclose(card.f, f, atol=1e-8)
    assert_allclose(matrix_of(card.line) @ card.f, SCORES, atol=1e-6)  # every step: the model itself


def test_each_merge_is_the_cheapest_and_the_others_are_fitted_again():
    """All pairs that may be merged are tried, each with a fit of all lines under the constraints so far."""
    card = fresh()
    D, constraints, n = matrix_of(card.line), [], len(card.group)
    cost = best_card(D, np.zeros((0, n + 1)))[0]
    unit = np.eye(n + 1)
    while (lines := card.steps()).values.size > 1:
        alive = np.flatnonzero(card.group == np.arange(n))
        counts = np.bincount(card.owner[alive], minlength=len(COLUMNS))
        trials = {}
        for a, b in itertools.combinations(alive.tolist(), 2):
            if card.near[a, b]:
                more = [unit[a] - unit[b]]
                saved = 2 if counts[card.owner[a]] == 2 else 1
                trials[a, b] = (best_card(D, [*constraints, *more])[0] - cost) / saved
        a, b = min(trials, key=trials.get)
        assert card.to(len(alive) - 1) < len(alive)
        constraints.append(unit[a] - unit[b])
        if card.group[a] < 0:
            constraints.append(unit[a])
        else:
            assert card.group[b] == a
        cost, f = best_card(D, constraints)
        found = card.steps()
        assert_allclose(np.append(found.values[:-1], 0)[found.line], np.append(f[:n], 0)[card.line], atol=1e-6)
        assert_allclose(found.values[-1], f[-1], atol=1e-6)
        assert len(found.values) < len(lines.values)


def test_a_stored_card_is_merged_like_the_fresh_one():
    card = fresh()
    card.to(20)
    stored = Merging(COLUMNS, PROBLEM.design.signs, card.steps())
    for n in (15, 9, 5, 2):
        card.to(n)
        stored.to(n)
        assert_array_equal(stored.steps().line, card.steps().line)
        assert_allclose(stored.steps().values, card.steps().values, atol=1e-10)
        assert len(card.steps().values) - 1 <= n


def test_ranges_are_of_neighbours_and_every_level_has_a_line():
    card = fresh()
    for n in range(20, 1, -1):
        card.to(n)
        for column, lines in zip(COLUMNS, by_column(COLUMNS, card.steps().line), strict=True):
            assert (lines >= 0).all() or (lines == -1).all()
            changes = np.count_nonzero(np.diff(lines[: column.n_values]))
            if not column.categorical and column.n_values:
                assert changes == len(np.unique(lines[: column.n_values])) - 1
            assert len(np.unique(lines)) != 1 or (lines == -1).all()


def test_columns_that_are_kept_stay():
    noise = 3
    card, free = fresh(), fresh()
    kept = np.arange(len(COLUMNS)) == noise
    card.to(6, kept)
    free.to(6)
    assert (by_column(COLUMNS, free.steps().line)[noise] == -1).all()
    assert len(np.unique(by_column(COLUMNS, card.steps().line)[noise])) == 2
    assert len(card.steps().values) - 1 <= 6


def test_shapes_are_kept():
    problem = Problem(X, Y, signs=[0, 1, 0, -1], max_bins=20)
    fit = fit_of(Problem(X, Y, max_bins=20))  # without the shapes, which the card must mend
    card = start_card(problem.rows, fit, problem.design)
    broken = card.f.copy()
    assert any((np.diff(broken[np.unique(each)]) * sign < 0).any() for each, sign in curves_with_signs(card, problem))
    for n in (40, 20, 10, 5):
        card.to(n)
        found = card.steps()
        for lines, sign in curves_with_signs(card, problem):
            ours = found.line[lines]
            assert (np.diff(np.append(found.values[:-1], 0)[ours]) * sign >= 0).all()


def curves_with_signs(card, problem):
    """Yield the cells of each column with a shape, and its sign."""
    places = by_column(problem.columns, np.arange(len(card.line)))
    for column, cells, sign in zip(problem.columns, places, problem.design.signs, strict=True):
        if sign:
            yield cells[: column.n_values], sign


def test_surfaces_are_taken_over_by_the_curves():
    system = PROBLEM.system([*PROBLEM.design.curves, *PROBLEM.design.surfaces([(0, 2)], len(COLUMNS) + 1, 50)])
    fit = find_mode(system, find_strengths(system), 1e-10, 50)[0]
    card = fresh(fit=fit)
    scores, D = fit.score(CODES), matrix_of(card.line)
    h = WEIGHTS * expit(scores) * (1 - expit(scores))
    J = D.T @ (h[:, None] * D) + RIDGE * np.diag(np.append(np.ones(D.shape[1] - 1), 0))
    b = D.T @ (h * scores) + RIDGE * centers_of(card, fit, h)
    assert_allclose(card.f, np.linalg.solve(J, b), atol=1e-7)


def test_coarse_lines_merge_the_nearest_neighbours():
    """The chain of all cells against a greedy search by hand; a level without rows joins the nearest value."""
    shares = [block.values(u) for block, u in zip(FIT.blocks, FIT.coordinates, strict=True)]
    curves = show(FIT.blocks, FIT.coordinates, [np.ones(len(each)) / len(each) for each in shares]).values
    masses = [np.bincount(CODES[:, j], H, column.n_codes) for j, column in enumerate(COLUMNS)]
    masses[2][-1] = 1e-12 * H.sum()  # of other levels
    groups = []
    for j, column in enumerate(COLUMNS):
        order = np.argsort(curves[j]) if column.categorical else np.arange(column.n_codes)
        groups.append([[k] for k in order.tolist()])

    def error(j, members):
        mass = masses[j][members]
        return mass @ (curves[j][members] - mass @ curves[j][members] / mass.sum()) ** 2

    while sum(map(len, groups)) > 12:
        trials = {
            (j, k): error(j, ours[k] + ours[k + 1]) - error(j, ours[k]) - error(j, ours[k + 1])
            for j, ours in enumerate(groups)
            for k in range(len(ours) - 1)
            if COLUMNS[j].categorical or ours[k + 1][0] < COLUMNS[j].n_values
        }
        j, k = min(trials, key=trials.get)
        groups[j][k] += groups[j].pop(k + 1)
    found = by_column(COLUMNS, coarsen(COLUMNS, curves, masses, 12)[0])
    for lines, expected in zip(found, groups, strict=True):
        if len(expected) == 1:
            assert (lines == -1).all()
            continue
        assert sorted(np.flatnonzero(lines == line).tolist() for line in np.unique(lines)) == sorted(
            sorted(each) for each in expected
        )
    nearest = np.argmin(np.abs(curves[2][:-1] - curves[2][-1]))
    assert len(np.unique(found[2])) == 1 or found[2][-1] == found[2][nearest]


def test_many_columns_and_levels_begin_with_few_lines():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((300, 150))
    problem = Problem(wide, (wide[:, 0] + rng.standard_normal(300) > 0).astype(int), np.zeros(150, bool))
    system = problem.system(problem.design.lines)
    fit = find_mode(system, find_strengths(system), 1e-8, 50)[0]
    card = start_card(problem.rows, fit, problem.design)
    used = {int(j) for j in card.owner}
    assert 0 in used
    assert len(used) <= merging.START // 2
    assert card.to(10) <= 10


@pytest.mark.parametrize("n_values", [0, 1])
def test_columns_that_say_nothing_are_on_no_card(n_values):
    constant = np.full(len(Y), np.nan if n_values == 0 else 1.0)
    problem = Problem(np.column_stack([X[:, 0], constant]), Y, np.zeros(2, bool))
    card = start_card(problem.rows, fit_of(problem), problem.design)
    assert (by_column(problem.columns, card.line)[1] == -1).all()
    card.to(2)
    assert len(card.steps().values) == 3


def test_no_column_says_anything():
    problem = Problem(np.zeros((len(Y), 2)), Y, np.zeros(2, bool))
    card = start_card(problem.rows, fit_of(problem), problem.design)
    assert card.to(2) == 0
    assert_allclose(card.steps().values, [np.log(Y.sum() / (Y == 0).sum())], atol=1e-6)

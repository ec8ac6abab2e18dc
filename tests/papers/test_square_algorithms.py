"""SOLAM, RegSOLAM, SPAM, FSAUC and OPAUC: convergence to known optima, and their recursions."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from aucmax import FSAUC, OPAUC, SOLAM, SPAM, AUCClassifier, ClassMoments, OPAUCf, OPAUCpca, OPAUCrp, RegSOLAM
from aucmax.papers.opauc import effective_rank, sketch_rank

ALPHA = 0.1
PASSES = np.array([1, 4, 16, 64, 256])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.3).astype(int)
    X = rng.standard_normal((400, 6)) @ (np.eye(6) + 0.3 * rng.standard_normal((6, 6)))
    X = StandardScaler().fit_transform(X + y[:, None] * np.array([0.8, 0.3, 0, 0.5, 0, -0.4]))
    return X, y, ClassMoments(6).update(X, y)


def objective(moments, w, l1=0.0, l2=0.0):
    return 0.5 * moments.squared_loss(w) + l1 * np.abs(w).sum() + 0.5 * l2 * w @ w


def gaps(estimator, problem, best, **penalty):
    X, y, moments = problem
    values = [
        objective(moments, estimator.set_params(max_iter=int(k), random_state=0).fit(X, y).coef_[0], **penalty)
        for k in PASSES
    ]
    return np.array(values) - objective(moments, best, **penalty)


@pytest.mark.parametrize(
    ("estimator", "alpha", "last_gap"),
    [
        (SOLAM(), 0.0, 2e-3),
        (RegSOLAM(alpha=ALPHA), ALPHA, 1e-3),
        (SPAM(alpha=ALPHA), ALPHA, 3e-5),
        (SPAM(alpha=ALPHA, average=False), ALPHA, 1e-5),
        (OPAUC(alpha=ALPHA), ALPHA, 1e-6),
        (OPAUC(alpha=ALPHA, average=False), ALPHA, 1e-4),
        (FSAUC(radius=50.0), 0.0, 2e-5),
    ],
    ids=str,
)
def test_square_algorithms_converge_at_the_rate_of_their_theory(estimator, alpha, last_gap, problem):
    """The theories promise a gap of the order of 1 / sqrt(T) after T steps (FSAUC: 1 / T)."""
    X, y, _ = problem
    exact = AUCClassifier(alpha=alpha).fit(X, y).coef_[0]
    gap = gaps(estimator, problem, exact, l2=alpha)
    assert np.all(gap > -1e-12)
    slope = np.polyfit(np.log(PASSES), np.log(gap), 1)[0]
    assert slope < (-1 if isinstance(estimator, FSAUC) else -0.5)
    assert gap[-1] < last_gap


@pytest.mark.parametrize(("penalty", "l1_ratio"), [("l1", 1.0), ("elasticnet", 0.4)])
def test_spam_finds_the_optimum_and_the_zeros_of_an_l1_penalty(penalty, l1_ratio, problem):
    X, y, _ = problem
    strength = {"l1": 0.1 * l1_ratio, "l2": 0.1 * (1 - l1_ratio)}
    exact = AUCClassifier(penalty=penalty, alpha=0.1, l1_ratio=l1_ratio, tol=1e-10).fit(X, y).coef_[0]
    assert 0 < np.count_nonzero(exact) < 6
    spam = SPAM(penalty=penalty, alpha=0.1, l1_ratio=l1_ratio)
    gap = gaps(spam, problem, exact, **strength)
    assert np.polyfit(np.log(PASSES), np.log(gap), 1)[0] < -0.5
    assert gap[-1] < 4e-5
    np.testing.assert_array_equal(spam.coef_[0] == 0, exact == 0)  # of 256 passes
    averaged = SPAM(penalty=penalty, alpha=0.1, l1_ratio=l1_ratio, average=True, random_state=0).fit(X, y)
    assert np.count_nonzero(averaged.coef_) == 6


def test_spam_on_sparse_rows_takes_several_proximal_maps_together(problem):
    """Also then it converges to the same optimum."""
    rng = np.random.default_rng(1)
    X = sparse.random_array((600, 40), density=0.05, format="csr", rng=rng, data_sampler=rng.standard_normal)
    y = (X[:, :5].sum(axis=1) + 0.3 * rng.standard_normal(600) > 0.3).astype(int)
    for penalty, l1_ratio in (("l2", 0.0), ("l1", 1.0)):
        exact = AUCClassifier(penalty=penalty, alpha=0.03, standardize=False, tol=1e-10).fit(X, y).coef_[0]
        moments = ClassMoments(40).update(X, y)
        strength = {"l1": 0.03 * l1_ratio, "l2": 0.03 * (1 - l1_ratio)}
        best = objective(moments, exact, **strength)
        spam = SPAM(penalty=penalty, alpha=0.03, standardize=False, max_iter=400, random_state=0).fit(X, y)
        assert objective(moments, spam.coef_[0], **strength) - best < 2e-4
        assert objective(moments, np.zeros(40)) - best > 0.01


def test_fsauc_converges_to_the_optimum_of_an_l1_ball(problem):
    *_, moments = problem
    radius = 0.3
    w = np.zeros(6)
    for _ in range(5000):  # projected gradients, with a projection by sorting
        w = w - 0.1 * 0.5 * moments.squared_loss_gradient(w)
        sizes = np.sort(np.abs(w))[::-1]
        excess = (np.cumsum(sizes) - radius) / np.arange(1, 7)
        w = np.sign(w) * np.maximum(np.abs(w) - max(excess[sizes > excess][-1], 0), 0)
    assert np.abs(w).sum() == pytest.approx(radius)
    assert np.linalg.norm(moments.squared_loss_gradient(w)) > 0.1
    estimator = FSAUC(radius=radius)
    gap = gaps(estimator, problem, w)
    assert np.all(gap > -1e-12)
    assert np.polyfit(np.log(PASSES), np.log(gap), 1)[0] < -0.35  # the step halves with a stage, that is, 4 times T
    assert gap[-1] < 3e-3
    assert np.abs(estimator.coef_).sum() < radius * (1 + 1e-9)


def test_solam_stays_in_its_ball(problem):
    X, y, moments = problem
    clf = SOLAM(radius=0.2, random_state=0, max_iter=50).fit(X, y)
    assert np.linalg.norm(clf.coef_) <= 0.2 * (1 + 1e-9)
    # On the sphere the gradient of the optimum points inwards: the minimiser over the ball is that of some alpha.
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        w = AUCClassifier(alpha=middle).fit(X, y).coef_[0]
        low, high = (middle, high) if np.linalg.norm(w) > 0.2 else (low, middle)
    assert 0 <= moments.squared_loss(clf.coef_[0]) - moments.squared_loss(w) < 0.02


def plain_solam(X, y, eta0, alpha, radius):
    """The steps of the docstring, one line each."""
    w, a, b, c, largest = np.zeros(X.shape[1]), 0.0, 0.0, 0.0, 0.0
    total, mass = np.zeros(X.shape[1]), 0.0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        p = y[:t].mean()
        largest = max(largest, np.linalg.norm(x))
        if p in (0, 1):
            continue
        g, s = 2 * (1 - p if label else p), w @ x
        gamma = gamma_w = (eta0 or 0) / np.sqrt(t)
        if not eta0:
            gamma = 1 / (4 * p * (1 - p) * np.sqrt(t))
            gamma_w = min(gamma / np.mean(np.sum(X[:t] ** 2, axis=1)), 1 / (2 * g * x @ x))
            gamma = min(gamma, 1 / g)
        if label:
            w = w - gamma_w * g * (s - a - 1 - c) * x
            a, c = a + gamma * g * (s - a), c + gamma * (-g * s - 2 * p * (1 - p) * c)
        else:
            w = w - gamma_w * g * (s - b + 1 + c) * x
            b, c = b + gamma * g * (s - b), c + gamma * (g * s - 2 * p * (1 - p) * c)
        w = w / (1 + gamma_w * 2 * p * (1 - p) * alpha)
        w = w * min(1, radius / np.linalg.norm(w))
        a, b = np.clip([a, b], -radius * largest, radius * largest)
        c = np.clip(c, -2 * radius * largest, 2 * radius * largest)
        total, mass = total + t * w, mass + t
    return total / mass


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("eta0", [None, 0.7])
def test_solam_steps_are_those_of_the_paper_for_any_norm_and_share(rows, eta0, problem):
    X, y, _ = problem
    X = 0.5 * X + 0.2
    solam = SOLAM(eta0=eta0, radius=0.6).partial_fit(rows(X), y)
    np.testing.assert_allclose(solam.coef_[0], plain_solam(X, y, eta0, 0.0, 0.6), rtol=1e-9)
    reg = RegSOLAM(eta0=eta0, alpha=0.5).partial_fit(rows(X), y)
    np.testing.assert_allclose(reg.coef_[0], plain_solam(X, y, eta0, 0.5, 2**0.5), rtol=1e-9)


def test_spam_steps_are_those_of_the_paper(problem):
    X, y, _ = problem
    w, total = np.zeros(6), np.zeros(6)
    center, p = X.mean(axis=0), y.mean()
    Z = X - center
    high, low = Z[y == 1].mean(axis=0), Z[y == 0].mean(axis=0)
    for t, (z, label) in enumerate(zip(Z, y, strict=True), start=1):
        eta, s = 0.2 / np.sqrt(t), w @ z
        a, b = w @ high, w @ low
        c = b - a
        g = 2 * (1 - p) * (s - a - 1 - c) * z if label else 2 * p * (s - b + 1 + c) * z
        u = w - eta * g
        strength = eta * 2 * p * (1 - p) * 0.3
        w = np.sign(u) * np.maximum(np.abs(u) - 0.25 * strength, 0) / (1 + 0.75 * strength)
        total += w
    parameters = {"penalty": "elasticnet", "alpha": 0.3, "l1_ratio": 0.25, "eta0": 0.2, "max_iter": 1}
    spam = SPAM(**parameters, standardize=False, shuffle=False, average=False).fit(X, y)
    np.testing.assert_allclose(spam.coef_[0], w, rtol=1e-9)
    spam = SPAM(**parameters, standardize=False, shuffle=False, average=True).fit(X, y)
    np.testing.assert_allclose(spam.coef_[0], total / len(y), rtol=1e-9)


# OPAUC


def plain_opauc(X, y, eta0, alpha, covariance):
    """OPAUC with a function from (rows of a class, their numbers) to its covariance; the last w and the average.

    Exact covariances without eta0 also precondition the steps.
    """
    d = X.shape[1]
    w, average, steps, curvatures = np.zeros(d), np.zeros(d), 0, []
    P, spreads, penalty = np.eye(d), None, alpha
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        others = np.flatnonzero(y[:t] != label)
        if len(others):
            m, C = X[others].mean(axis=0), covariance(X, others)
            steps += 1
            spread = np.trace(np.cov(X[others].T, bias=True)) if spreads is None else spreads[1 - label]
            curvatures.append((x - m) @ P @ (x - m) + spread + penalty)
            k = np.mean(curvatures)
            eta = eta0 or min(1 / (k + np.sqrt(k**2 + k * steps)), 1 / curvatures[-1])
            sign = 1 if label else -1
            w = w - eta * P @ (alpha * w - sign * (x - m) + (x - m) * ((x - m) @ w) + C @ w)
            average += 2 / (steps + 1) * (w - average)
        seen = t + 1
        if covariance is exact_covariance and not eta0 and seen in d * 2 ** np.arange(10) and 0 < y[:seen].sum() < seen:
            C = [exact_covariance(X, np.flatnonzero(y[:seen] == label)) for label in (0, 1)]
            gap = X[:seen][y[:seen] == 1].mean(axis=0) - X[:seen][y[:seen] == 0].mean(axis=0)
            H = C[0] + C[1] + np.outer(gap, gap)
            ridge = alpha + np.trace(H) / seen
            P = np.linalg.inv(H + ridge * np.eye(d))
            spreads, penalty = [np.trace(P @ part) for part in C], alpha / ridge
            curvatures = [np.trace(P @ H) + penalty] * steps
    return w, average


def exact_covariance(X, rows):
    return np.cov(X[rows].T, bias=True)


def sketched_covariance(draws, paper):
    def covariance(X, rows):
        Z, m, h, T = X[rows].T @ draws[rows], X[rows].mean(axis=0), draws[rows].mean(axis=0), len(rows)
        if paper:
            return Z @ Z.T / T - h @ h * np.outer(m, m)
        return (Z - T * np.outer(m, h)) @ (Z - T * np.outer(m, h)).T / T

    return covariance


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("eta0", [None, 0.01])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_opauc_is_the_recursion_of_the_paper(rows, eta0, alpha, problem):
    X, y, _ = problem
    X, y = X[:120] + 2, y[:120]
    w, average = plain_opauc(X, y, eta0, alpha, exact_covariance)
    for expected, averaged in ((w, False), (average, True)):
        clf = OPAUC(eta0=eta0, alpha=alpha, average=averaged).partial_fit(rows(X), y)
        np.testing.assert_allclose(clf.coef_[0], expected, rtol=1e-8)


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("centering", ["unbiased", "paper"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 40.0])
def test_opauc_of_a_rank_is_the_recursion_of_the_paper(rows, centering, alpha, problem):
    X, y, _ = problem
    X, y = X[:120] + 2, y[:120]
    draws = np.random.RandomState(7).standard_normal((120, 4)) / 2
    w, average = plain_opauc(X, y, None, alpha, sketched_covariance(draws, centering == "paper"))
    for expected, averaged in ((w, False), (average, True)):
        clf = OPAUC(rank=4, centering=centering, alpha=alpha, average=averaged, random_state=7)
        clf.partial_fit(rows(X), y)
        np.testing.assert_allclose(clf.coef_[0], expected, rtol=1e-7, atol=1e-12)


def test_opauc_sketches_are_centred_only_without_bias():
    """Of 40 rows with mean 3 and variance 1, over many draws."""
    rng = np.random.default_rng(0)
    X = 3 + StandardScaler().fit_transform(rng.standard_normal((40, 1)))
    rows = np.arange(40)
    draws = rng.standard_normal((2000, 40, 5)) / np.sqrt(5)
    unbiased, paper = (
        np.mean([sketched_covariance(draw, way)(X, rows)[0, 0] for draw in draws]) for way in (False, True)
    )
    assert unbiased == pytest.approx(1, abs=0.05)
    assert paper == pytest.approx(10 - 9 / 40, abs=0.5)


def test_opaucr_with_many_draws_is_opauc():
    rng = np.random.default_rng(2)
    y = (rng.random(300) < 0.5).astype(int)
    X = rng.standard_normal((300, 60)) + 0.2 * y[:, None]
    full = OPAUC(max_iter=1, random_state=0)
    full._preconditions = False  # sketches have no metric
    full = full.fit(X, y).coef_[0]
    errors = [np.linalg.norm(OPAUC(rank=k, max_iter=1, random_state=0).fit(X, y).coef_[0] - full) for k in (3, 60)]
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.25 * np.linalg.norm(full)


def test_a_rank_above_the_number_of_columns_keeps_the_covariances(problem):
    X, y, _ = problem
    np.testing.assert_array_equal(OPAUC(rank=7, random_state=0).fit(X, y).coef_, OPAUC(random_state=0).fit(X, y).coef_)


PIPELINES = {make.__name__: make for make in (OPAUCf, OPAUCpca, OPAUCrp)}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_opauc_pipelines_take_no_more_components_than_there_are(problem, name, layout):
    X, _, _ = problem
    all_but_one = layout is sparse.csr_array and name == "OPAUCpca"  # are found by scikit-learn's solver of sparse rows
    for rows, most in ((X, 5 if all_but_one else 6), (X[:5], 4 if name == "OPAUCpca" else 6)):
        labels = np.arange(len(rows)) % 2
        model = PIPELINES[name](random_state=0).fit(layout(rows), labels)
        assert model["opauc"].n_features_in_ == most
        assert model[-2].get_params()["k" if name == "OPAUCf" else "n_components"] == 1000
        same = PIPELINES[name](most, random_state=0).fit(layout(rows), labels)
        np.testing.assert_array_equal(same["opauc"].coef_, model["opauc"].coef_)


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_opauc_pipelines_of_a_stream_are_one_pass_of_fit(problem, name, layout):
    """The paper takes columns as they are, in fit and in streams; the components are found in the first 150 rows."""
    X, y, _ = problem
    X, first = layout(X), slice(150 if name == "OPAUCpca" else 400)
    stream = PIPELINES[name](3, random_state=0, variant="paper")
    for start, stop in ((0, 150), (150, 151), (151, 400)):
        stream.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
    before = clone(stream[:-1]).fit(X[first], y[first])
    one_pass = clone(stream[-1]).set_params(shuffle=False).fit(before.transform(X), y)
    np.testing.assert_allclose(stream[-1].coef_, one_pass.coef_, rtol=1e-9)
    np.testing.assert_array_equal(
        stream.decision_function(X), stream[-1].decision_function(before.transform(X)), strict=True
    )
    fitted = clone(stream).fit(X, y)
    expected = copy.deepcopy(fitted[-1]).partial_fit(fitted[:-1].transform(X), y)
    np.testing.assert_array_equal(fitted.partial_fit(X, y)[-1].coef_, expected.coef_)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_opauc_pca_leaves_out_components_of_rounding(problem, center, dtype):
    """Standardised, their rounding would count as much as the others: a row by itself had other scores than here."""
    X, y, _ = problem
    rows = np.column_stack([X, X @ np.arange(1.0, 7.0), 100 * X[:, 0], np.ones(len(X))]).astype(dtype)
    model = OPAUCpca(center=center, random_state=0).fit(rows, y)
    assert model["opauc"].n_features_in_ == 6
    scores = model.decision_function(rows)
    alone = np.concatenate([model.decision_function(rows[[i]]) for i in range(20)])
    np.testing.assert_allclose(alone, scores[:20], rtol=0, atol=1e4 * np.finfo(dtype).eps * np.ptp(scores))


def test_opauc_takes_the_steps_of_strong_convexity_in_a_ball(problem):
    """The Remark of Theorem 2: 1 / (lambda t), in the ball of radius 1 / lambda, which the first steps leave."""
    X, y, _ = problem
    lam, w, clipped = 0.3, np.zeros(6), 0
    t = 0
    for i in range(len(y)):
        others = np.flatnonzero(y[:i] != y[i])
        if len(others):
            t += 1
            u, C = X[i] - X[others].mean(axis=0), exact_covariance(X, others)
            w = w - (lam * w - (1 if y[i] else -1) * u + u * (u @ w) + C @ w) / (lam * t)
            clipped += np.linalg.norm(w) > 1 / lam
            w = w * min(1, 1 / lam / np.linalg.norm(w))
    assert 0 < clipped < t
    clf = OPAUC(variant="paper", eta0="inverse", alpha=lam, shuffle=False)
    np.testing.assert_allclose(clf.fit(X, y).coef_[0], w, rtol=1e-9)
    np.testing.assert_allclose(clone(clf).partial_fit(sparse.csr_array(X), y).coef_[0], w, rtol=1e-9)
    for wrong in ({"alpha": 0.0}, {"alpha": 1.0, "rank": 2}):
        with pytest.raises(ValueError, match=r'^eta0="inverse" needs covariances and an alpha above 0'):
            clf.set_params(**wrong).fit(X, y)


def test_effective_rank_is_definition_3_and_bounds_the_rank_of_theorem_4(problem):
    X, y, _ = problem
    C = [exact_covariance(X, np.flatnonzero(y == label)) for label in (0, 1)]
    mu = 0.2
    ranks = [np.trace(np.linalg.solve(mu * np.eye(6) + part, part)) for part in C]
    np.testing.assert_allclose([effective_rank(part, mu) for part in C], ranks, rtol=1e-12)
    assert effective_rank(np.diag([1.0, 1.0, 0.0, 0.0]), 1e-12) == pytest.approx(2)
    # k - 1 large eigenvalues, and others whose sum is at most mu, have a rank of at most k
    assert effective_rank(np.diag([1e9, 1e9, *np.full(50, mu / 50)]), mu) <= 3
    L = np.linalg.norm(X, axis=1).max()
    unit = [part / L**2 for part in C]  # the theorem's rows have norm 1 at most
    lam = mu / L**2
    r = max(np.sum(values / (lam + values)) for values in map(np.linalg.eigvalsh, unit))
    expected = 32 * r * lam / 0.25**2 * np.log(2 * 6 * 400 / 0.05)
    assert sketch_rank(C, 400, mu, L, epsilon=0.25) == np.ceil(expected)
    assert sketch_rank(C, 400, 1e-12, L) == 1


def test_opauc_is_the_same_on_rows_of_any_linear_map_once_it_has_a_metric():
    """The weights hardly depend on the condition number of the covariances."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((1500, 8))
    y = (Z @ rng.standard_normal(8) + 0.5 * rng.standard_normal(1500) > 0.5).astype(int)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    X = Z * np.geomspace(1, 1e-2, 8) @ Q
    clf = OPAUC(alpha=1e-9, random_state=0)
    assert clf.fit(X, y).score(X, y) > clf.fit(Z, y).score(Z, y) - 2e-3
    clf._preconditions = False
    assert clf.fit(X, y).score(X, y) < 0.95


def test_errors_of_opauc(problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match=r"^The 'rank' parameter of OPAUC must be an int in the range \[1"):
        OPAUC(rank=0).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"^eta0 \* alpha must be below 1, got 2 \* 0\.5: a step would take"):
        OPAUC(eta0=2.0, alpha=0.5).fit(X, y)
    wide = sparse.csr_array((np.ones(2), ([0, 1], [0, 10**6])), shape=(2, 10**6 + 1))
    with pytest.raises(MemoryError, match=r"take 16,000 GB, more than this machine has: keep sketches of the cov"):
        OPAUC().fit(wide, [0, 1])


def test_solam_fsauc_and_spam_refuse_parameters(problem):
    X, y, _ = problem
    for estimator in (SOLAM(radius=0.0), FSAUC(radius=-1.0)):
        with pytest.raises(ValueError, match=r"^The 'radius' parameter of \w+ must be a float in the range \(0"):
            estimator.fit(X, y)
    with pytest.raises(ValueError, match=r"^The 'alpha' parameter of RegSOLAM must be a float in the range \(0"):
        RegSOLAM(alpha=0.0).fit(X, y)
    with pytest.raises(ValueError, match=r"^The 'penalty' parameter of SPAM must be a str among"):
        SPAM(penalty="l0").fit(X, y)

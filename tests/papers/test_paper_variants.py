"""The paper variants, step for step: after each pass they have the weights of the papers' pseudo-code in NumPy."""

import inspect
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from oracles import cbr, gaussian, hard_thresholding, oam, opauc, pair_sampling, saddle_point, spam, spdam, univariate
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import aucmax
from aucmax.papers import ALGORITHMS
from aucmax.papers.engine.epochs import StochasticClassifier

PASSES = 3
N_ROWS, N_COLUMNS = 121, 7  # a number that neither stages nor blocks divide

both_kinds = pytest.mark.parametrize(
    "kind", [np.asarray, pytest.param(sparse.csr_array, marks=pytest.mark.slow)], ids=["dense", "csr"]
)


def make_rows(n=N_ROWS, d=N_COLUMNS):
    """Return rows that are neither centred nor of one norm, a third of whose entries are zero, and labels -1 and +1."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.35, 1, -1)
    X = rng.standard_normal((n, d)) + 0.5 + 0.8 * (y == 1)[:, None] * rng.standard_normal(d)
    X *= rng.random((n, d)) < 0.67
    X[n // 2] *= 2  # longer than all others
    return X / np.linalg.norm(X, axis=1).max(), y


def joined(drawn):
    return np.concatenate(drawn).astype(int)


def columns(drawn):
    """Return the parts of what was drawn, each over all passes."""
    return [joined(part) for part in zip(*drawn, strict=True)]


def batches(drawn):
    return [b.order[start:stop].astype(int) for b in drawn for start, stop in zip(b.start, b.stop, strict=True)]


def blocks(drawn, size):
    return joined([b.start // size for b in drawn])


def kappa(X):
    return np.linalg.norm(X, axis=1).max()


def sketched(X, y, drawn, centering, eta=0.1, lam=0.3):
    order, R = (np.concatenate(part) for part in zip(*(block for blocks in drawn for block in blocks), strict=True))
    return opauc.opauc_r(X, y, order.astype(int), R, eta=eta, lam=lam, centering=centering)


def of_pairs(oracle, X, drawn, strength, t0):
    return oracle(X, np.column_stack(columns(drawn)), t0=t0, rskip=5, askip=3, **strength)


# For each algorithm an estimator, and a function that returns the iterates of the oracle for what was drawn.
SADDLE = {"zeta": 0.7}
PAIRS = {"alpha": 0.02, "regularize_every": 5, "average_every": 3}
CASES = {
    "OPAUC": (
        aucmax.OPAUC(eta0=0.1, alpha=0.3),
        lambda X, y, drawn: opauc.opauc(X, y, joined([order for ((order, _),) in drawn]), eta=0.1, lam=0.3),
    ),
    "OPAUC, steps past 0": (
        aucmax.OPAUC(eta0=0.1, alpha=15.0),
        lambda X, y, drawn: opauc.opauc(X, y, joined([order for ((order, _),) in drawn]), eta=0.1, lam=15.0),
    ),
    "OPAUCr": (aucmax.OPAUC(rank=3, eta0=0.1, alpha=0.3), lambda X, y, drawn: sketched(X, y, drawn, "paper")),
    **{
        f"OPAUCr, eta lambda = {0.1 * lam:g}": (
            aucmax.OPAUC(rank=3, eta0=0.1, alpha=lam),
            lambda X, y, drawn, lam=lam: sketched(X, y, drawn, "paper", lam=lam),
        )
        for lam in (9.9, 10.0, 15.0)  # steps almost to 0, to 0 and past it
    },
    "OPAUCr, unbiased": (
        aucmax.OPAUC(rank=3, eta0=0.1, alpha=0.3, centering="unbiased"),
        lambda X, y, drawn: sketched(X, y, drawn, "corrected"),
    ),
    **{
        f"SOLAM, R={R:g}": (
            aucmax.SOLAM(eta0=zeta, radius=R),
            lambda X, y, drawn, R=R, zeta=zeta: saddle_point.solam(X, y, joined(drawn), zeta=zeta, R=R, kappa=kappa(X)),
        )
        for R, zeta in ((0.05, 0.7), (0.4, 6.0), (10.0, 0.7))
    },
    "SOLAM, last": (
        aucmax.SOLAM(eta0=0.7, radius=0.4, average=False),
        lambda X, y, drawn: saddle_point.solam(X, y, joined(drawn), R=0.4, kappa=kappa(X), averaged=False, **SADDLE),
    ),
    **{
        f"RegSOLAM, lambda={lam:g}": (
            aucmax.RegSOLAM(eta0=0.7, alpha=lam / 2),
            lambda X, y, drawn, lam=lam: saddle_point.reg_solam(X, y, joined(drawn), lam=lam, kappa=kappa(X), **SADDLE),
        )
        for lam in (0.01, 1.0, 20.0)
    },
    "SPAM": (
        aucmax.SPAM(eta0=0.5, alpha=0.1),
        lambda X, y, drawn: spam.spam(X, y, joined(drawn), C=0.5, beta1=0.1),
    ),
    "SPAM, l1": (
        aucmax.SPAM(penalty="l1", eta0=0.5, alpha=0.02),
        lambda X, y, drawn: spam.spam(X, y, joined(drawn), C=0.5, beta2=0.02),
    ),
    "SPAM, elastic net": (
        aucmax.SPAM(penalty="elasticnet", l1_ratio=0.25, eta0=0.5, alpha=0.04),
        lambda X, y, drawn: spam.spam(X, y, joined(drawn), C=0.5, beta1=0.03, beta2=0.01),
    ),
    "SPAM, last": (
        aucmax.SPAM(penalty="l1", eta0=0.5, alpha=0.02, average=False),
        lambda X, y, drawn: spam.spam(X, y, joined(drawn), C=0.5, beta2=0.02, averaged=False),
    ),
    **{
        f"FSAUC, R={R:g}": (
            aucmax.FSAUC(eta0=eta, radius=R, horizon=PASSES * N_ROWS),
            lambda X, y, drawn, R=R, eta=eta: saddle_point.fsauc(X, y, joined(drawn), R=R, eta=eta),
        )
        for R, eta in ((0.1, 2.0), (1.0, 0.5), (10.0, 0.1))
    },
    **{
        f"SPDAM, lambda={lam:g}": (
            aucmax.SPDAM(alpha=lam, batch_size=0.1, tol=None),
            lambda X, y, drawn, lam=lam: spdam.spdam(X, y, columns(drawn)[0].reshape(-1, N_ROWS // 10), lam=lam),
        )
        for lam in (0.01, 1.0)
    },
    "SPDAM, given steps": (
        aucmax.SPDAM(alpha=0.1, batch_size=0.1, sigma=0.1, tau=0.01, theta=0.999, tol=None),
        lambda X, y, drawn: spdam.spdam(
            X, y, columns(drawn)[0].reshape(-1, N_ROWS // 10), lam=0.1, steps=(0.1, 0.01, 0.999)
        ),
    ),
    "SPDAM, ball": (
        aucmax.SPDAM(alpha=0.0, radius=0.05, batch_size=0.1, sigma=0.1, tau=0.01, tol=None),
        lambda X, y, drawn: spdam.spdam(
            X, y, columns(drawn)[0].reshape(-1, N_ROWS // 10), lam=0.0, steps=(0.1, 0.01, 1.0), R=0.05
        ),
    ),
    "SHTAUC": (
        aucmax.SHTAUC(n_nonzero=3, n_blocks=5, eta0=0.3),
        lambda X, y, drawn: hard_thresholding.sht_auc(X, y, blocks(drawn, 24), k=3, b=24, gamma=0.15),
    ),
    "SHTAUC, authors' step": (
        aucmax.SHTAUC(n_nonzero=4, n_blocks=7),  # the last block has 19 rows, the others 17
        lambda X, y, drawn: hard_thresholding.sht_auc(
            X, y, blocks(drawn, 17), k=4, b=17, gamma=np.mean(y == 1) * np.mean(y == -1)
        ),
    ),
    "StoIHT": (
        aucmax.StoIHT(n_nonzero=3, n_blocks=5),
        lambda X, y, drawn: hard_thresholding.stoiht(X, y, blocks(drawn, 24), k=3, b=24, gamma=1.0)[:, :-1],
    ),
    "HSGHT": (
        aucmax.HSGHT(n_nonzero=3, batch_size=10),
        lambda X, y, drawn: hard_thresholding.hsg_ht(X, y, batches(drawn), k=3)[:, :-1],
    ),
    "OAM": (
        aucmax.OAM(C=0.05, buffer_size=9),
        lambda X, y, drawn: oam.oam_seq(X, y, *columns(drawn), C=0.05, N=9),
    ),
    "OAMgra": (
        aucmax.OAM(C=0.05, buffer_size=9, update="gradient"),
        lambda X, y, drawn: oam.oam_gra(X, y, *columns(drawn), C=0.05, N=9),
    ),
    "CBR": (
        aucmax.CBR(C=0.1, buffer_size=9),
        lambda X, y, drawn: cbr.cbr(X, y, columns(drawn)[0], C=0.1, N=9),
    ),
    "CBRdiag": (
        aucmax.CBR(C=0.1, buffer_size=9, covariance="diagonal"),
        lambda X, y, drawn: cbr.cbr_diagonal(X, y, columns(drawn)[0], C=0.1, N=9),
    ),
    "ASAM": (
        aucmax.ASAM(**PAIRS, eta0=20.0),
        lambda X, y, drawn: of_pairs(pair_sampling.asam, X, drawn, {"lam": 0.02}, 1 / (0.02 * 20)),
    ),
    "ASAM, Bottou's t0": (
        aucmax.ASAM(**PAIRS),
        lambda X, y, drawn: of_pairs(pair_sampling.asam, X, drawn, {"lam": 0.02}, pair_sampling.bottou_t0(0.02)),
    ),
    "PSAM": (
        aucmax.PSAM(**PAIRS, eta0=20.0),
        lambda X, y, drawn: of_pairs(pair_sampling.psam, X, drawn, {"gamma": 0.02}, 1 / (0.02 * 20)),
    ),
    "PSAM, Bottou's t0": (
        aucmax.PSAM(**PAIRS),
        lambda X, y, drawn: of_pairs(pair_sampling.psam, X, drawn, {"gamma": 0.02}, pair_sampling.bottou_t0(0.02)),
    ),
    **{
        name: (
            getattr(aucmax, name)(eta0=0.1, alpha=alpha),
            lambda X, y, drawn, oracle=oracle, alpha=alpha: oracle(X, y, joined(drawn), eta=0.1, lam=alpha or 0.0),
        )
        for name, oracle, alpha in (
            ("UniSqu", univariate.uni_squ, None),
            ("UniExp", univariate.uni_exp, 0.2),
            ("UniLog", univariate.uni_log, None),
        )
    },
}


def fit_by_passes(clf, X, y, monkeypatch):
    """Return the weights after each pass of the paper variant, and what each pass visited."""
    drawn, kind = [], type(clf)
    original = kind._draw

    def record(self, *arguments):
        found = original(self, *arguments)
        drawn.append(list(found) if kind is aucmax.OPAUC else found)
        return drawn[-1]

    monkeypatch.setattr(kind, "_draw", record)
    clf = clone(clf).set_params(variant="paper", max_iter=1, warm_start=True, random_state=3)
    return np.array([clf.fit(X, y).coef_[0] for _ in range(PASSES)]), drawn


def count_steps(clf, drawn):
    """Return how many steps were made after each pass."""
    if isinstance(clf, aucmax.SPDAM):
        lengths = [len(bounds) - 1 for _, bounds in drawn]
    elif isinstance(clf, aucmax.OPAUC):
        lengths = [sum(len(order) for order, _ in blocks) for blocks in drawn]
    elif hasattr(drawn[0], "start"):
        lengths = [len(batches.start) for batches in drawn]
    else:
        lengths = [len(part[0] if isinstance(part, tuple) else part) for part in drawn]
    return np.cumsum(lengths)


@both_kinds
@pytest.mark.parametrize("name", CASES)
def test_paper_variant_weights_after_each_pass_are_the_pseudo_code(name, kind, monkeypatch):
    (clf, oracle), (X, y) = CASES[name], make_rows()
    weights, drawn = fit_by_passes(clf, kind(X), y, monkeypatch)
    iterates = oracle(X, y, drawn)
    expected = iterates[np.minimum(count_steps(clf, drawn), len(iterates)) - 1]
    assert np.all(np.abs(expected).max(axis=1) > 1e-3)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@both_kinds
@pytest.mark.parametrize("R", [0.1, 1e5])
def test_solam_with_the_longest_steps_of_its_grid(R, kind, monkeypatch):
    """Almost every step ends far out of the ball, and the projection makes it some thousand times shorter."""
    X, y = make_rows()
    X *= 12
    weights, drawn = fit_by_passes(aucmax.SOLAM(eta0=100.0, radius=R), kind(X), y, monkeypatch)
    iterates = saddle_point.solam(X, y, joined(drawn), zeta=100.0, R=R, kappa=kappa(X))
    np.testing.assert_allclose(weights, iterates[N_ROWS - 1 :: N_ROWS], rtol=0, atol=1e-10 * np.abs(iterates).max())


@both_kinds
def test_the_ball_of_a_late_stage_of_fsauc_binds(kind, monkeypatch):
    X, y = make_rows()
    monkeypatch.setitem(globals(), "PASSES", 20)
    clf, given = aucmax.FSAUC(eta0=8.0, radius=0.5, horizon=20 * N_ROWS), {"R": 0.5, "eta": 8.0}
    weights, drawn = fit_by_passes(clf, kind(X), y, monkeypatch)
    steps = np.minimum(count_steps(clf, drawn), 3 * (20 * N_ROWS // 3)) - 1
    expected = saddle_point.fsauc(X, y, joined(drawn), **given)[steps]
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    monkeypatch.setattr(saddle_point, "into_ball", lambda v, center, radius: v)
    without = saddle_point.fsauc(X, y, joined(drawn), **given)[steps]
    assert np.abs(without - expected).max() > 1e-3 * np.abs(expected).max()


@both_kinds
def test_fsauc_in_a_stream_of_known_or_unknown_length(kind):
    """Without a horizon, row t is in the stage whose number the paper gives for T = t rows."""
    X, y = make_rows(n=1500)
    given, stages = {"eta": 2.0, "R": 1.0}, [saddle_point.fsauc_stages(t)[0] for t in range(2, 1502)]
    lengths = [stages.index(2) + 2, stages.index(3) - stages.index(2), 1500]
    clf = aucmax.FSAUC(variant="paper", eta0=2.0, radius=1.0, shuffle=False, max_iter=1)
    for horizon, parts in ((1500, None), (None, lengths)):
        stream = clone(clf).set_params(horizon=horizon)
        for start, stop in ((0, 1), (1, 256), (256, 700), (700, 1500)):
            stream.partial_fit(kind(X[start:stop]), y[start:stop], classes=[-1, 1])
        expected = saddle_point.fsauc(X, y, np.arange(1500), **given, lengths=parts)[-1]
        np.testing.assert_allclose(stream.coef_[0], expected, rtol=0, atol=1e-10 * np.abs(expected).max())
        if horizon:
            np.testing.assert_allclose(stream.coef_, clone(clf).fit(kind(X), y).coef_, rtol=1e-9)


@both_kinds
def test_a_small_ball_binds_although_the_l1_ball_does_not(kind):
    X, y = make_rows()
    clf = aucmax.FSAUC(variant="paper", radius=10.0, max_iter=1, horizon=9 * N_ROWS, warm_start=True, random_state=0)
    clf.fit(kind(X), y).state_.scalars[2] = 0.3
    state = clf.fit(kind(X), y).state_
    v, v1 = np.append(state.w.last()[:-2], state.saddle[0, :2]), np.append(state.start[:-2], state.saddle[1, :2])
    assert np.linalg.norm(v - v1) == pytest.approx(0.3, rel=0.05)
    assert np.linalg.norm(v - v1) <= 0.3 * (1 + 1e-12)


@both_kinds
def test_the_interval_of_alpha_of_a_late_stage_of_fsauc_binds(kind, monkeypatch):
    """Thousands of rows would make D small; here both sides are given a small one after the first stage."""
    X, y = make_rows()
    original, oracle_next = aucmax.FSAUC._next_stage, saddle_point.fsauc_next_stage

    def next_stage(self, state, *arguments):
        original(self, state, *arguments)
        state.scalars[3] = 0.02

    monkeypatch.setattr(aucmax.FSAUC, "_next_stage", next_stage)
    weights, drawn = fit_by_passes(aucmax.FSAUC(eta0=2.0, radius=1.0, horizon=PASSES * N_ROWS), kind(X), y, monkeypatch)
    found = {}
    for D in (0.02, np.inf):
        monkeypatch.setattr(saddle_point, "fsauc_next_stage", lambda *a, D=D, **k: (D, oracle_next(*a, **k)[1]))
        iterates = saddle_point.fsauc(X, y, joined(drawn), R=1.0, eta=2.0)
        found[D] = iterates[np.minimum(np.arange(1, PASSES + 1) * N_ROWS, len(iterates)) - 1]
    np.testing.assert_allclose(weights, found[0.02], rtol=0, atol=1e-10 * np.abs(weights).max())
    assert np.abs(found[0.02] - found[np.inf]).max() > 1e-3 * np.abs(weights).max()


@pytest.mark.parametrize("kind", [aucmax.SHTAUC, aucmax.StoIHT])
def test_paper_variant_draws_blocks_with_replacement(kind, monkeypatch):
    X, y = make_rows()
    _, drawn = fit_by_passes(kind(n_nonzero=3, n_blocks=60), X, y, monkeypatch)
    steps = np.array([batches.start // 2 for batches in drawn])
    assert steps.shape == (PASSES, 60)
    distinct = [len(set(steps_of_pass)) / 60 for steps_of_pass in steps]
    np.testing.assert_allclose(distinct, 1 - np.exp(-1), atol=0.1)  # of a permutation, or of any cycle: 1
    assert len(np.unique(steps)) > 50, "the passes draw anew"


def test_every_stochastic_algorithm_has_a_case():
    kinds = {method.make for method in ALGORITHMS.values() if isinstance(method.make, type)}
    stochastic = {kind for kind in kinds if issubclass(kind, StochasticClassifier)}
    assert stochastic == {type(clf) for clf, _ in CASES.values()}


def test_the_parameters_of_a_class_are_what_it_declares_before_those_of_its_base_classes():
    class Own(aucmax.SOLAM):
        limit: float = 2.0
        max_iter: int = 3
        _hidden: int = 0

    class Handwritten(aucmax.SOLAM):
        def __init__(self, radius=5.0):
            super().__init__(radius=radius, max_iter=1)

    clf = Own(radius=1.0, limit=4.0)
    assert list(inspect.signature(Own).parameters)[:3] == ["limit", "max_iter", "radius"]
    assert clone(clf).get_params() == aucmax.SOLAM(radius=1.0, max_iter=3).get_params() | {"limit": 4.0}
    assert (Handwritten().radius, Handwritten().max_iter, Handwritten().variant) == (5.0, 1, "adaptive")
    with pytest.raises(TypeError, match=r"^Own\.__init__\(\) got an unexpected keyword argument 'limits'"):
        Own(limits=1.0)
    assert aucmax.GaussianAUC("gradient").solver == "gradient"
    with pytest.raises(TypeError, match=r"^SOLAM\.__init__\(\) takes 1 positional argument but 2 were given$"):
        aucmax.SOLAM(1.0)


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - {"NBAM"}))
def test_every_algorithm_has_a_paper_variant_on_unscaled_columns(name):
    X, y = make_rows()
    small = {"rank": 3, "max_iter": 5, "n_components": 5, "n_nonzero": 3, "random_state": 0, "variant": "paper"}
    method = ALGORITHMS[name]
    known = {parameter.rpartition("__")[2] for parameter in method().get_params()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [
            method(**{key: value for key, value in (small | more).items() if key in known}).fit(X, y)
            for more in ({}, {"standardize": False})
        ]
    assert_array_equal(*(fit.decision_function(X) for fit in fits))


@both_kinds
@pytest.mark.parametrize("max_iter", [1, 2, 5, 20, 250])
def test_the_gaussian_descents_are_those_of_algorithm_1(max_iter, kind):
    X, y = make_rows()
    auc = aucmax.GaussianAUC(variant="paper", max_iter=max_iter).fit(kind(X), y)
    error = aucmax.GaussianError(variant="paper", max_iter=max_iter).fit(kind(X), y)
    expected = gaussian.gaussian_auc(X, y)
    assert len(expected) > 10
    assert auc.n_iter_ == len(auc.history_["value"]) == min(max_iter, len(expected) - 1)
    np.testing.assert_allclose(auc.coef_[0], expected[: max_iter + 1][-1], rtol=0, atol=1e-10)
    expected = gaussian.gaussian_error(X, y)[: max_iter + 1][-1]
    directions = [w / np.linalg.norm(w) for w in (error.coef_[0], expected)]
    np.testing.assert_allclose(*directions, rtol=0, atol=1e-10)
    threshold = error.intercept_[0] / np.linalg.norm(error.coef_)
    assert abs(threshold) < 1e-10


@both_kinds
@pytest.mark.parametrize("max_iter", [1, 2, 5, 20, 250])
def test_the_threshold_of_the_gaussian_error_is_the_weight_of_a_constant_column(max_iter, kind):
    X, y = make_rows()
    X *= 10  # shorter ones end after a step, with every row called negative
    error = aucmax.GaussianError(variant="paper", fit_intercept=True, max_iter=max_iter).fit(kind(X), y)
    iterates = gaussian.gaussian_error(np.column_stack([X, np.ones(len(y))]), y)
    assert len(iterates) > 10
    found, expected = np.append(error.coef_, error.intercept_), iterates[: max_iter + 1][-1]
    assert abs(expected[-1]) > 0.01
    np.testing.assert_allclose(found / np.linalg.norm(found), expected / np.linalg.norm(expected), rtol=0, atol=1e-10)


@both_kinds
@pytest.mark.parametrize("max_iter", [1, 7, 40])
def test_descents_with_other_constants_of_the_line_search(max_iter, kind):
    X, y = make_rows()
    given = {"c": 0.3, "beta": 0.7, "eta0": 20.0, "max_iter": max_iter}
    expected = gaussian.gaussian_auc(X, y, c=0.3, beta=0.7, alpha0=20.0)[: max_iter + 1]
    auc = aucmax.GaussianAUC(variant="paper", **given).fit(kind(X), y)
    np.testing.assert_allclose(auc.coef_[0], expected[-1], rtol=0, atol=1e-8 * np.abs(expected[-1]).max())
    assert np.abs(expected[-1] - gaussian.gaussian_auc(X, y)[len(expected) - 1]).max() > 1e-3
    steps = np.log(auc.history_["step"] / 20) / np.log(0.7)
    np.testing.assert_allclose(steps, steps.round(), atol=1e-9)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("max_iter", [1, 5, 40])
def test_f_log_and_f_hinge_are_algorithm_1_from_a_random_start(max_iter, standardize):
    X, y = make_rows()
    Z = StandardScaler().fit_transform(X) if standardize else X
    given = {"variant": "paper", "standardize": standardize, "max_iter": max_iter, "random_state": 3}
    w0 = np.random.RandomState(3).standard_normal(N_COLUMNS)
    w0 /= np.linalg.norm(w0)
    for clf, F in (
        (aucmax.LogisticDescent(**given), lambda w: gaussian.F_log(w, Z, y, 1 / N_ROWS)),
        (aucmax.LogisticDescent(alpha=0.3, **given), lambda w: gaussian.F_log(w, Z, y, 0.3)),
        (aucmax.PairwiseDescent(**given), lambda w: gaussian.F_hinge(w, Z, y)),
    ):
        expected = gaussian.descend(F, w0)[: max_iter + 1]
        clf.fit(X, y)
        np.testing.assert_allclose(clf.coef_[0] * (X.std(axis=0) if standardize else 1), expected[-1], atol=1e-9)
        np.testing.assert_allclose(clf.history_["value"], [F(w)[0] for w in expected[1:]], rtol=1e-9)
        norms = [np.linalg.norm(F(w)[1]) for w in expected[1:]]
        np.testing.assert_allclose(clf.history_["gradient_norm"], norms, rtol=1e-7)
        if isinstance(clf, aucmax.LogisticDescent):
            np.testing.assert_allclose(clf.decision_function(X), Z @ expected[-1], rtol=0, atol=1e-9)
        assert np.any(clf.fit(X, y).coef_ != clone(clf).set_params(random_state=4).fit(X, y).coef_)


@pytest.mark.parametrize("solver", ["exact", "gradient"])
def test_cross_covariances_are_those_of_the_paper(solver):
    """Pairs of rows that share noise, in both orders of the columns: their difference has Sigma-- + Sigma++ - ..."""
    X, y = make_rows()
    rng = np.random.default_rng(0)
    K = 0.1 * rng.standard_normal((N_COLUMNS, N_COLUMNS)) * X.var(axis=0).mean()
    clf = aucmax.GaussianAUC(solver, variant="paper", cross_covariance=K, max_iter=30).fit(X, y)
    positives, negatives = gaussian.class_moments(X, y)
    if solver == "gradient":
        expected = gaussian.gaussian_auc(X, y, Sigma_cross=K)[31 - 1]
        np.testing.assert_allclose(clf.coef_[0], expected, rtol=0, atol=1e-9)
    else:
        w = np.linalg.solve(positives[1] + negatives[1] - K - K.T, positives[0] - negatives[0])
        np.testing.assert_allclose(clf.coef_[0] / np.linalg.norm(clf.coef_), w / np.linalg.norm(w), rtol=1e-8)
        scaled = clone(clf).set_params(standardize=True).fit(X, y)
        np.testing.assert_allclose(scaled.coef_, clf.coef_, rtol=1e-8)
    assert clf.expected_auc_ == pytest.approx(1 - gaussian.F_auc(clf.coef_[0], positives, negatives, K)[0], abs=1e-12)
    independent = clone(clf).set_params(cross_covariance=None).fit(X, y)
    assert np.abs(independent.expected_auc_ - clf.expected_auc_) > 1e-4


def test_cross_covariances_are_checked():
    X, y = make_rows()
    with pytest.raises(
        ValueError, match=r"^cross_covariance must be a finite matrix of shape \(7, 7\), got one of shape "
    ):
        aucmax.GaussianAUC(cross_covariance=np.eye(3)).fit(X, y)
    with pytest.raises(ValueError, match=r"^cross_covariance is too large: x\+ - x- would have a negative variance"):
        aucmax.GaussianAUC(cross_covariance=100 * np.eye(7)).fit(X, y)


# What holds for every case, without an oracle

every_case = pytest.mark.parametrize("name", CASES)
ONLINE = [name for name, (clf, _) in CASES.items() if hasattr(clf, "partial_fit")]


def paper_variant(name, **parameters):
    return clone(CASES[name][0]).set_params(variant="paper", random_state=3, **parameters)


@both_kinds
@every_case
def test_standardize_works_on_standardised_columns(name, kind):
    X, y = make_rows()
    clf, Z = paper_variant(name, max_iter=2), StandardScaler().fit_transform(X)
    if "eta0" in clf.get_params():
        clf.set_params(eta0=0.01)
    expected = clf.fit(Z, y).coef_ / X.std(axis=0)
    found = clf.set_params(standardize=True).fit(kind(X), y).coef_
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", [name for name in ONLINE if not name.startswith(("Uni", "ASAM", "PSAM"))])
def test_a_stream_in_parts_is_one_pass_in_the_order_of_the_rows(name):
    X, y = make_rows()
    clf = paper_variant(name, shuffle=False, max_iter=1)
    if name.startswith("SOLAM"):
        clf.set_params(radius=10.0, eta0=0.7)  # the bound on a and b, which knows all rows in `fit`, must not bind
    expected, stream = clone(clf).fit(X, y).coef_, clf
    for part in np.split(np.arange(len(y)), [1, 20, 90]):
        stream.partial_fit(X[part], y[part], classes=[-1, 1])
    np.testing.assert_allclose(stream.coef_, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kind", [aucmax.UniSqu, aucmax.UniExp, aucmax.UniLog])
def test_a_stream_of_single_rows_weighs_classes_as_they_were_so_far(kind):
    X, y = make_rows()
    slope = {
        aucmax.UniSqu: lambda m: 2 * (m - 1),
        aucmax.UniExp: lambda m: -np.exp(-m),
        aucmax.UniLog: lambda m: -1 / (1 + np.exp(m)),
    }[kind]
    w, counts = np.zeros(X.shape[1]), {-1: 0, 1: 0}
    for x, label in zip(X, y, strict=True):
        counts[label] += 1
        if all(counts.values()):
            weight = sum(counts.values()) / counts[label]
            w = w - 0.1 * (weight * slope(label * (w @ x)) * label * x + 0.3 * w)
    clf = kind(variant="paper", eta0=0.1, alpha=0.3)
    for part in (slice(0, 50), slice(50, None)):
        clf.partial_fit(X[part], y[part], classes=[-1, 1])
    np.testing.assert_allclose(clf.coef_[0], w, rtol=0, atol=1e-12)


@both_kinds
@every_case
def test_whole_weights_are_repeated_rows(name, kind):
    X, y = make_rows()
    times = np.random.default_rng(1).integers(0, 3, len(y))
    clf = paper_variant(name)
    fixed = {"shuffle": False, "n_blocks": 1, "batch_size": 10_000}
    clf.set_params(**{key: value for key, value in fixed.items() if key in clf.get_params()})
    weighted = clone(clf).fit(kind(X), y, sample_weight=times).coef_
    repeated = clone(clf).fit(kind(np.repeat(X, times, axis=0)), np.repeat(y, times)).coef_
    if isinstance(clf, aucmax.SPDAM):  # batches of rows: the minimiser is the same, the way to it is not
        np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-6 * np.abs(repeated).max())
    else:
        np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-9 * np.abs(repeated).max())


def test_paper_variants_of_asam_and_psam_differ_in_the_limit_of_steps():
    """With the long steps of a small alpha the two differ; in the default, both take a pair to its target."""
    X, y = np.array([[2.0], [0.0]]), np.array([1, -1])
    after_one = {"max_iter": 1, "average_every": 1, "regularize_every": 100, "eta0": 1e3, "alpha": 1e-9}
    step = {
        (kind, variant): kind(variant=variant, standardize=False, random_state=0, **after_one)
        .fit(X, y, sample_weight=np.array([1.0, 1.0]))
        .state_.w.last()[0]
        for kind in (aucmax.ASAM, aucmax.PSAM)
        for variant in ("adaptive", "paper")
    }
    assert step.pop((aucmax.ASAM, "paper")) == pytest.approx(2000, rel=1e-6)
    assert list(step.values()) == pytest.approx([0.5] * 3, rel=1e-9)

"""Direct optimisation of the AUC and of the error of linear classifiers, the classes taken as Gaussian.

H. Ghanbari and K. Scheinberg, "Directly and efficiently optimizing prediction error and AUC of linear classifiers",
arXiv:1802.02535 (2018). With class means m_0, m_1, covariances S_0, S_1, delta = m_1 - m_0 and priors P_0, P_1,

    AUC(w)      = Phi(w.delta / sqrt(w'(S_0 + S_1)w))                                          (`GaussianAUC`)
    error(w, c) = P_1 Phi((c - w.m_1) / sqrt(w'S_1 w)) + P_0 Phi((w.m_0 - c) / sqrt(w'S_0 w))  (`GaussianError`)

Both see the data through the class moments alone, so that no step depends on the number of rows. Neither depends on
the length of w.

"gradient", the paper's Algorithm 1, for F = 1 - AUC, and for F = error with c = 0 and a constant column for it:

1. start at w = m_1 - (m_0.m_1 / |m_0|^2) m_0, normalised;
2. stop if |grad F(w)| is at most 1e-7 of what it was at the start, or after 250 steps;
3. a = 1; halve a until F(w - a grad F(w)) <= F(w) - 1e-4 a |grad F(w)|^2;
4. w <- w - a grad F(w); go to 2.

"exact", the global optimum, needs none of it:

- AUC: w = (S_0 + S_1)^-1 delta.
- Error, with the threshold c free: a search along one line, see below.

docs/guide/misprints.md lists the signs that are corrected. The paper has no intercept. On centred columns m_0 and m_1
are then parallel, its starting point is rounding error, and no plane comes near its figures where one class is rare. A
constant column mends both; without it the descent starts at delta if it has to.

variant="paper" is "gradient" without shrinkage and without an intercept, on the columns as they are; with
``standardize=True`` on columns of mean 0 and variance 1, as in the paper's experiments on real data.

The least error, by a search along one line
-------------------------------------------
For given w'S_0 w and w'S_1 w, the error decreases with w.delta. Take a basis where S_0 + S_1 = I and S_1 = diag(g).
There w.delta is maximised under two constraints that are linear in the squares of w. The problem is concave in these
squares, so the Lagrange condition is sufficient, too:

    T w = delta,   T = a S_1 + b S_0   positive semidefinite

The diagonal of T is a linear function of g that is positive from the smallest g to the largest. Up to a factor, its
values at these two ends, 1 - s and s, determine it. So the global optimum is the w of some s in [0, 1]. The threshold c
is where the two densities, times their priors, cross: a root of a quadratic. With increasing s, the error decreases
where the slope of T is below (w.m_1 - c)/(w'S_1 w) - (c - w.m_0)/(w'S_0 w), and increases where it is above. The roots
of this difference are bracketed on a grid and refined; each s costs O(n_features).

If the best threshold lies between the two means, a and b are positive: these are the w among which Anderson and Bahadur
(1962) search, with t = a / (a + b) in (0, 1). If one class is rare, or if the means are close and the covariances
differ, the threshold lies beyond one of the means and t outside (0, 1). This is not a rare case.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit, logit, ndtr

from .._base import MomentClassifier
from .._compat import Interval, StrOptions
from ..models.checks import array, real
from ..rows.summaries.moments import ClassMoments
from ..search.calibration import Calibration, calibrate_gaussian
from ..solvers.candidate import Solution
from ..solvers.descent import DescentObjective, gradient_descent, powers
from ..solvers.square import EPS, MomentProblem, eigh, held_out_alpha
from .engine.variant import NOT_NEGATIVE, POSITIVE, VariantMixin

# The grid covers the logits of s from -REACH to REACH. Beyond these, rounding errors of delta determine w.
REACH = 50
GRID = np.linspace(-REACH, REACH, 4 * REACH + 1)
# Beyond this many standard deviations a Gaussian has no mass in float64.
BEYOND = 40


class Cut(NamedTuple):
    """A threshold on Gaussian scores."""

    place: Any  # the threshold, measured from the mean score of the negatives
    slope: Any  # the slope of the log-odds there


class DescentMixin(VariantMixin):
    """An estimator with the paper's gradient descent.

    Parameters
    ----------
    max_iter : int, default=250
        Limit of steps of the descent.

    tol : float, default=1e-7
        Where the descent stops: the norm of the gradient over the norm of the first one.

    c : float, default=1e-4
        The descent takes a step of length a if the objective falls by at least c a times the squared norm of the
        gradient.

    beta : float, default=0.5
        What a is multiplied by otherwise.

    eta0 : float, default=1.0
        The first a that is tried, alpha_0 in the paper.

    Attributes
    ----------
    history_ : dict of arrays
        The "value" of the objective, the norm of its gradient, "gradient_norm", and the "step" of each iteration of
        the descent.
    """

    variant: str = "adaptive"
    standardize: bool | None = None
    max_iter: int = 250
    tol: float = 1e-7
    c: float = 1e-4
    beta: float = 0.5
    eta0: float = 1.0

    _parameter_constraints = {  # noqa: RUF012
        **{name: [Interval(Real, 0, 1, closed="neither")] for name in ("tol", "c", "beta")},
        "eta0": [POSITIVE],
    }

    def _descend(self, objective: DescentObjective, w: np.ndarray, advice: str | None) -> np.ndarray:
        """Return where the descent ends that starts at w, and set what is known of its steps."""
        lengths = [self.eta0 * power for power in powers(self.beta)]
        w, iterations = gradient_descent(objective, w, self.max_iter, self.tol, advice, self.c, lengths)
        self.n_iter_, self.history_ = len(iterations), Solution(w, iterations=iterations).history()
        return w


class GaussianClassifier(DescentMixin, MomentClassifier):
    """A classifier of Gaussian classes.

    Parameters
    ----------
    pooled : bool, default=False
        Whether both classes have the pooled covariance, in which each counts by its weight. It is better if one class
        has few rows; the weights are then as in linear discriminant analysis.

    variant : {"adaptive", "paper"}, default="adaptive"
        "paper" is the paper's descent on its own objective; the notes list what differs.

    Attributes
    ----------
    moments_ : ClassMoments
        The class moments, which `partial_fit` continues from.

    n_iter_ : int
        Steps of "gradient"; 1 for "exact".
    """

    pooled: bool = False

    _parameter_constraints = {"solver": [StrOptions({"exact", "gradient"}), None], "pooled": ["boolean"]}  # noqa: RUF012
    _by_variant = {"solver": ("exact", "gradient")}  # noqa: RUF012

    def _solve_moments(self, moments: ClassMoments) -> None:
        self.n_iter_ = 1
        self.__dict__.pop("history_", None)
        self._solve_problem(MomentProblem(moments, self._chosen("standardize"), self.pooled))

    @abstractmethod
    def _solve_problem(self, problem: MomentProblem) -> None:
        """Set the fitted attributes, but for the number of steps of "exact"."""

    def _descend_from(self, w: np.ndarray, objective: ValueAndGradient) -> np.ndarray:
        """Return where the descent ends that starts at w."""
        if not w.any():  # the means are equal, there is nothing to start from
            return w
        # In the paper most descents end with their last step: no reason for a warning.
        advice = None if self._is_paper else "increase max_iter or tol, or take solver='exact'"
        return self._descend(Weights(objective), w, advice)


class GaussianAUC(GaussianClassifier):
    """Linear classifier of the largest AUC if the classes are Gaussian.

    It maximises ``Phi(w.delta / sqrt(w'(S_0 + S_1 + alpha I)w))``, delta the difference of the class means and S_0,
    S_1 the class covariances: at alpha=0 the probability that a positive scores higher than a negative.

    Parameters
    ----------
    solver : {"exact", "gradient"}, default=None
        "exact" solves one linear system and has the global optimum; "gradient" is the paper's descent, which ends
        below it. None is "exact", and "gradient" with variant="paper".

    alpha : float, default=None
        Ridge on S_0 + S_1, at least 0. None takes the one with the largest AUC on left-out rows, which follows from
        the moments alone, as if the classes were Gaussian. With variant="paper" it is 0.

    cross_covariance : array-like of shape (n_features, n_features), default=None
        The covariance of the columns of a positive row with the columns of a negative row, the Sigma_+- of the
        paper. None takes rows of the two classes as independent, as in the paper's experiments. It is
        subtracted from S_0 + S_1, and so is its transpose.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights; with "exact" the same as of ``AUCClassifier(alpha=alpha_)``.

    intercept_ : ndarray of shape (1,)
        Puts zero at the score where the two Gaussian densities cross; AUC does not depend on it.

    alpha_ : float
        The alpha of the weights.

    expected_auc_ : float
        The AUC if the classes are Gaussian with `moments_`; optimistic where these are estimates from few rows.

    calibration_ : ndarray of shape (2,)
        Slope and offset of the log-odds of `predict_proba` in `decision_function`, from the class moments.

    See Also
    --------
    AUCClassifier : The same weights, with alpha chosen by cross-validation.
    GaussianError : The least error instead of the largest AUC.

    Notes
    -----
    How the default differs from the paper (gains: docs/measured/variants.md; misprints: docs/guide/misprints.md):

    - it solves for the optimum, where the paper's descent mostly ends with its 250th step, before it.
    - covariances are shrunk, for data with few rows for their columns.
    - columns are standardised, so that the shrinkage does not depend on their units.

    References
    ----------
    .. [1] H. Ghanbari and K. Scheinberg, "Directly and efficiently optimizing prediction error and AUC of linear
       classifiers", arXiv:1802.02535 (2018).

    Examples
    --------
    >>> from aucmax import GaussianAUC
    >>> from aucmax.datasets import make_gaussian
    >>> X, y, moments = make_gaussian("data1", n_samples=1000, n_features=20, random_state=0)
    >>> clf = GaussianAUC().fit(X[:800], y[:800])
    >>> round(clf.score(X[800:], y[800:]), 2)
    1.0
    >>> round(GaussianAUC().fit_moments(moments).expected_auc_, 4)
    0.9965
    """

    _file_schema = GaussianClassifier._file_schema | {"alpha_": real, "expected_auc_": real}

    solver: str | None = field(default=None, kw_only=False)
    alpha: float | None = None
    cross_covariance: Any = None

    _parameter_constraints = {"alpha": [NOT_NEGATIVE, None], "cross_covariance": ["array-like", None]}  # noqa: RUF012
    _by_variant = {"alpha": (None, 0.0)}  # noqa: RUF012

    def _solve_problem(self, problem: MomentProblem) -> None:
        moments, alpha = problem.moments, self._chosen("alpha")
        self.alpha_ = held_out_alpha(problem) if alpha is None else float(alpha)
        shared = subtract_cross_covariance(problem, self.cross_covariance)
        if self._chosen("solver") == "exact":
            # delta delta', which it adds to S_0 + S_1, changes no direction (Sherman and Morrison), and has the
            # limit where the sum is singular and separates the classes.
            (w,) = problem.path(np.array([self.alpha_]), 0.0)
        else:
            mean, C = center(problem, self._chosen("standardize")), covariances(problem).sum(axis=0)
            C.flat[:: len(C) + 1] += self.alpha_
            w = self._descend_from(start(mean), one_minus_auc(mean, C)) / problem.scale
        self.coef_ = w[None, :]
        means, variances = moments.project(w)
        self.expected_auc_ = gaussian_auc(means, variances - w @ shared @ w)
        self._set_calibration(calibrate_gaussian(means, variances, moments.weight))


class GaussianError(GaussianClassifier):
    """Linear classifier of the least error if the classes are Gaussian.

    It minimises ``P_1 Phi((c - w.m_1)/s_1) + P_0 Phi((w.m_0 - c)/s_0)`` over the weights w and the threshold c, with
    the class means m, the priors P and s^2 = w'Sw.

    Parameters
    ----------
    solver : {"exact", "gradient"}, default=None
        "exact" has the global optimum over weights and threshold, whatever the covariances; "gradient" is the paper's
        descent, which may end above it. None is "exact", and "gradient" with variant="paper".

    shrinkage : float in [0, 1], default=None
        How far each class covariance is shrunk towards its mean variance times the identity. None chooses it from the
        moments, as `alpha` of :class:`aucmax.GaussianAUC`. 0 is for covariances of full rank; it is what None means
        with variant="paper".

    priors : array-like of shape (2,), default=None
        Probabilities of the negative and the positive class, or numbers in their proportion. None takes the
        weights of the classes.

    fit_intercept : bool, default=None
        Whether "gradient" descends on the threshold too. The paper has none: False keeps it at zero, of the
        standardised columns if `standardize`, where a rare class cannot be recognised. "exact" needs True. None is
        True, and False with variant="paper".

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights, so long that `decision_function` is the log-odds near its zero. For equal covariances, linear
        discriminant analysis has the same direction.

    intercept_ : ndarray of shape (1,)
        Puts zero at the threshold.

    priors_ : ndarray of shape (2,)
        The probabilities of the classes.

    shrinkage_ : float
        The shrinkage of both covariances.

    expected_error_ : float
        The error if the classes are Gaussian with `moments_`; optimistic where these are estimates from few rows.

    calibration_ : ndarray of shape (2,)
        Slope and offset of the log-odds of `predict_proba` in `decision_function`: 1 and 0.

    See Also
    --------
    GaussianAUC : The largest AUC instead of the least error.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The same for equal covariances.

    Notes
    -----
    How the default differs from the paper (gains: docs/measured/variants.md; misprints: docs/guide/misprints.md):

    - it has the global optimum of a function that is not convex, where the paper's descent mostly ends with its 250th
      step.
    - there is a threshold: without one, a rare class is never predicted on centred columns. It lowers the error, not
      the AUC; both sides are the descent here, since the optimum needs it.
    - covariances are shrunk, for data with few rows for their columns.
    - columns are standardised, so that the shrinkage does not depend on their units.

    `predict` takes the threshold of least error, where the probability is one half, and not the base rate; `score` is
    the ROC AUC and not the accuracy. Where no linear classifier does better than to call every row by the larger class,
    it does so, and its weights have the largest Gaussian AUC.

    References
    ----------
    .. [1] H. Ghanbari and K. Scheinberg, "Directly and efficiently optimizing prediction error and AUC of linear
       classifiers", arXiv:1802.02535 (2018).
    .. [2] T. W. Anderson and R. R. Bahadur, "Classification into two multivariate normal distributions with
       different covariance matrices", Annals of Mathematical Statistics 33 (1962).

    Examples
    --------
    >>> from aucmax import GaussianError
    >>> from aucmax.datasets import make_gaussian
    >>> X, y, moments = make_gaussian("data3", n_samples=1000, n_features=20, random_state=0)
    >>> clf = GaussianError().fit(X[:800], y[:800])
    >>> float((clf.predict(X[800:]) == y[800:]).mean())
    0.985
    >>> round(1 - GaussianError().fit_moments(moments).expected_error_, 3)
    0.974
    """

    _file_schema = GaussianClassifier._file_schema | {
        "priors_": array("f", 2),
        "shrinkage_": real,
        "expected_error_": real,
    }

    solver: str | None = field(default=None, kw_only=False)
    shrinkage: float | None = None
    priors: Any = None
    fit_intercept: bool | None = None

    _parameter_constraints = {  # noqa: RUF012
        "shrinkage": [Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "fit_intercept": ["boolean", None],
    }
    _by_variant = {"shrinkage": (None, 0.0), "fit_intercept": (True, False)}  # noqa: RUF012

    def _solve_problem(self, problem: MomentProblem) -> None:
        exact, moments = self._chosen("solver") == "exact", problem.moments
        if exact and not self._chosen("fit_intercept"):
            raise ValueError("solver='exact' finds the threshold too: it needs fit_intercept=True.")
        self.priors_ = moments.weight / moments.weight.sum() if self.priors is None else check_priors(self.priors)
        S = covariances(problem)
        shrinkage = self._chosen("shrinkage")
        levels = np.trace(S, axis1=1, axis2=2) / S.shape[1]
        if shrinkage is None:
            alpha = held_out_alpha(problem)
            shrinkage = alpha / (alpha + levels.sum())
        self.shrinkage_ = float(shrinkage)
        S *= 1 - self.shrinkage_
        for C, level in zip(S, levels, strict=True):
            C.flat[:: len(C) + 1] += self.shrinkage_ * level
        if exact:
            w, cut = least_error(problem.scaled.delta, S, self.priors_)
        else:
            w, cut = self._descend_with_cut(center(problem, self._chosen("standardize")), S)
        # The log-odds have slope 1 in scores of this length.
        threshold = (problem.scaled.mean[0] @ w + cut.place) * cut.slope
        w = w / problem.scale * cut.slope
        self.coef_ = w[None, :]
        self._set_calibration(Calibration(float(threshold), 1.0, 0.0))
        self.expected_error_ = gaussian_error(*moments.project(w), threshold, self.priors_)

    def _descend_with_cut(self, mean: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, Cut]:
        d = mean.shape[1]
        if self._chosen("fit_intercept"):
            mean, S = np.pad(mean, ((0, 0), (0, 1)), constant_values=1), np.pad(S, ((0, 0), (0, 1), (0, 1)))
        w = self._descend_from(start(mean), error(mean, S, self.priors_))
        gap, variances = (mean[1] - mean[0]) @ w, np.array([w @ C @ w for C in S])
        return w[:d], cut_at(-mean[0] @ w, gap, variances, self.priors_)


# The Gaussian model


def standardized(differences: Any, variances: Any) -> Any:
    """Return differences over standard deviations; of a variance of zero, (almost) infinity of their sign."""
    return differences / np.maximum(np.sqrt(variances), np.finfo(np.float64).tiny)


@np.errstate(over="ignore")
def gaussian_auc(means: np.ndarray, variances: np.ndarray) -> float:
    """Return the AUC of Gaussian scores."""
    return float(ndtr(standardized(means[1] - means[0], variances.sum())))


@np.errstate(over="ignore")
def gaussian_error(means: np.ndarray, variances: np.ndarray, threshold: float, priors: np.ndarray) -> float:
    """Return the error of Gaussian scores at a threshold."""
    return float(priors @ ndtr(standardized(np.array([1, -1]) * (means - threshold), variances)))


def check_priors(priors: Any) -> np.ndarray:
    """Return the two priors, scaled to sum to one."""
    try:
        checked = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        checked = np.empty(0)
    if checked.shape != (2,) or not (np.isfinite(checked).all() and (checked > 0).all()):
        raise ValueError(
            f"priors must be two positive numbers, of the negative and of the positive class; got {priors!r}."
        )
    return checked / checked.sum()


def subtract_cross_covariance(problem: MomentProblem, K: Any) -> np.ndarray:
    """Subtract (K + K')/2 from both scaled covariances, and return it; K is for the columns of X, or None."""
    scaled = problem.scaled
    d = scaled.n_features
    K = np.zeros((d, d)) if K is None else np.asarray(K, dtype=np.float64)
    if K.shape != (d, d) or not np.isfinite(K).all():
        raise ValueError(f"cross_covariance must be a finite matrix of shape ({d}, {d}), got one of shape {K.shape}.")
    shared = (K + K.T) / 2
    scaled.scatter -= scaled.weight[:, None, None] * shared / np.outer(problem.scale, problem.scale)
    if K.any() and eigh(covariances(problem).sum(axis=0))[0][0] < 0:
        raise ValueError("cross_covariance is too large: x+ - x- would have a negative variance in some direction.")
    return shared


def covariances(problem: MomentProblem) -> np.ndarray:
    """Return the covariances of the scaled columns, shape (2, d, d), with what keeps them definite in float64."""
    moments = problem.scaled
    S = moments.scatter / moments.weight[:, None, None]
    columns = np.arange(moments.n_features)
    level = S[:, columns, columns].sum(axis=0) + moments.delta**2
    # Above the rounding errors of both, and equal in both: noise must not pass for a direction of unequal variances.
    S[:, columns, columns] += EPS * len(columns) ** 2 * np.where(level > 0, level, 1.0)
    return S


def center(problem: MomentProblem, standardize: bool) -> np.ndarray:
    """Return the class means of the columns that the descent is on: standardised, or as they are."""
    moments = problem.scaled
    return moments.mean - (moments.weight @ moments.mean / moments.weight.sum() if standardize else 0)


# The paper's descent

ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]


def start(mean: np.ndarray) -> np.ndarray:
    """Return the paper's starting point, or the difference of the means where these are parallel."""
    low, high = mean
    w = high - (low @ high) / max(low @ low, np.finfo(np.float64).tiny) * low
    if np.linalg.norm(w) <= 1e-6 * np.linalg.norm(high):
        w = high - low
    return w / (np.linalg.norm(w) or 1.0)


def one_minus_auc(mean: np.ndarray, C: np.ndarray) -> ValueAndGradient:
    """Return 1 - AUC, as a function of w with its gradient."""
    return lambda w: phi_of_ratio(w, mean[0] - mean[1], C)


def error(mean: np.ndarray, S: np.ndarray, priors: np.ndarray) -> ValueAndGradient:
    """Return the error at the threshold zero, as a function of w with its gradient."""

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        (miss, d_miss), (alarm, d_alarm) = phi_of_ratio(w, -mean[1], S[1]), phi_of_ratio(w, mean[0], S[0])
        return priors[1] * miss + priors[0] * alarm, priors[1] * d_miss + priors[0] * d_alarm

    return objective


def phi_of_ratio(w: np.ndarray, m: np.ndarray, C: np.ndarray) -> tuple[float, np.ndarray]:
    """Return Phi(w.m / sqrt(w'Cw)) and its gradient, the paper's Lemma 2."""
    Cw = C @ w
    variance = float(w @ Cw)
    ratio = float(w @ m) / np.sqrt(variance)
    density = np.exp(-0.5 * ratio**2) / np.sqrt(2 * np.pi)
    return float(ndtr(ratio)), density * (m - (float(w @ m) / variance) * Cw) / np.sqrt(variance)


class Weights:
    """A function of the weights alone, as :mod:`aucmax.solvers.descent` takes it: value and gradient at w."""

    def __init__(self, objective: ValueAndGradient) -> None:
        self.objective = objective

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return no scores."""
        return np.empty(0)

    def evaluate(self, w: np.ndarray, scores: np.ndarray) -> tuple[float, Callable[[], np.ndarray]]:
        """Return the value, and a function that returns the gradient."""
        value, gradient = self.objective(w)
        return value, lambda: gradient


def crossing(gap: Any, variances: Any, priors: np.ndarray) -> Cut:
    """Return where the densities of the scores, times their priors, cross with rising log-odds; nan if they do not.

    The means are `gap` >= 0 apart. This is the threshold of least error, unless predicting one class for all rows is
    better. Let y be measured from the mean of the negatives, and a, b be the variances of the negatives and positives.
    Then y^2 / a - (y - gap)^2 / b = 2 log(P_0 s_1 / (P_1 s_0)), where s_0, s_1 are the standard deviations.
    """
    a, b = variances
    log_ratio = np.log(priors[0] / priors[1]) + 0.5 * np.log(b / a)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(a * b * (gap**2 + 2 * (b - a) * log_ratio))
        place = a * (gap**2 + 2 * b * log_ratio) / (a * gap + root)  # without cancellation
    exists = root > 0
    return Cut(np.where(exists, place, np.nan), np.where(exists, root / (a * b), np.nan))


def error_at(place: Any, gap: Any, variances: Any, priors: np.ndarray) -> Any:
    """Return the error at a threshold measured from the mean of the negatives."""
    a, b = variances
    return priors[0] * ndtr(-place / np.sqrt(a)) + priors[1] * ndtr((place - gap) / np.sqrt(b))


def cut_at(place: float, gap: float, variances: np.ndarray, priors: np.ndarray) -> Cut:
    """Return a given threshold with a positive slope."""
    if not variances.all():  # w = 0
        return larger_class_cut(gap, variances, priors)
    slope = (gap - place) / variances[1] + place / variances[0]
    return Cut(place, slope if slope > 0 else 1 / np.sqrt(priors @ variances))


def larger_class_cut(gap: float, variances: np.ndarray, priors: np.ndarray) -> Cut:
    """Return a threshold that predicts the larger class for every row; the probability at the mean is the prior."""
    odds = float(logit(priors[1]))
    middle = priors[1] * gap
    away = BEYOND * np.sqrt(variances.max()) + abs(gap) or 1.0
    return Cut(middle - np.sign(odds) * away, abs(odds) / away or 1.0)


def simultaneous_basis(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return g, increasing, and a basis B with B'(S_0 + S_1)B = I and B'S_1 B = diag(g)."""
    L = cholesky(S[0] + S[1], lower=True, check_finite=False)
    half = solve_triangular(L, S[1], lower=True, check_finite=False)
    g, V = eigh(solve_triangular(L, half.T, lower=True, check_finite=False))
    return np.clip(g, EPS, 1 - EPS), solve_triangular(L, V, lower=True, trans="T", check_finite=False)


def least_error(delta: np.ndarray, S: np.ndarray, priors: np.ndarray) -> tuple[np.ndarray, Cut]:
    """Return weights and threshold of least error, by the search described at the head of this file."""
    g, basis = simultaneous_basis(S)
    d = delta @ basis
    # If delta is 0 in a basis vector, the optimum may be a limit of s towards 0 or 1. A tiny value reaches this limit.
    floor = 1e-14 * (np.abs(d).max() or 1.0)
    d = np.where(np.abs(d) < floor, np.copysign(floor, d), d)
    span = float(g[-1] - g[0])
    place = (g - g[0]) / (span or 1.0)

    def weights(x: np.ndarray) -> np.ndarray:
        return d / (np.multiply.outer(expit(-x), 1 - place) + np.multiply.outer(expit(x), place))

    def trace(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the error for each logit of s, and a number with the sign of its derivative."""
        W = weights(x)
        gap, variances = W @ d, np.array([W**2 @ (1 - g), W**2 @ g])
        cut = crossing(gap, variances, priors)
        slope = (gap - cut.place) / variances[1] - cut.place / variances[0]
        return error_at(cut.place, gap, variances, priors), np.tanh(x / 2) - span * slope

    errors, signs = trace(GRID)
    rises = np.flatnonzero((signs[:-1] < 0) & (signs[1:] > 0))
    low, high = GRID[rises], GRID[rises + 1]
    for _ in range(50):  # bisection, which needs no signs at the ends: they may be rounding errors
        middle = (low + high) / 2
        above = trace(middle)[1] > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    # The optimum is at a point of the grid only if it is a limit, or if the densities do not cross next to it.
    candidates = np.array([*low, GRID[np.nanargmin(errors)] if np.isfinite(errors).any() else 0.0])
    errors = trace(candidates)[0] * np.append(np.ones(len(low)), 1 + 1e-9)
    best = int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))
    better_than_one_class = errors[best] < priors.min()
    w = basis @ weights(candidates[best] if better_than_one_class else np.zeros(()))
    w /= np.abs(w).max()
    gap, variances = float(w @ delta), np.array([w @ C @ w for C in S])
    return w, (crossing if better_than_one_class else larger_class_cut)(gap, variances, priors)

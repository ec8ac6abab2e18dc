"""ASAM: accelerated stochastic AUC maximisation on sampled pairs.

Khalid, Ray and Chitsaz (2018), Scalable nonlinear AUC maximization methods.

Objective
---------
    minimise over w   mean over all pairs of l(w.z) + alpha/2 |w|^2,    z = z+ - z-

where a pair is a positive row and a negative one, and l is the smoothed hinge loss, with slope l'(s) = -min(1 - s, 1)
where s < 1:

    l(s) = 0  where s >= 1,    (1 - s)^2 / 2  where 0 <= s <= 1,    1/2 - s  where s <= 0

One pass over the rows
----------------------
The steps on random pairs of `stochastic/pair_sampling.py`, with

2. If w.z < 1:  w += min(eta min(1 - w.z, 1), (1 - w.z) / |z|^2) z. With variant="paper" w += eta min(1 - w.z, 1) z.
"""

from __future__ import annotations

from ..stochastic.pair_sampling import GRADIENT, LIMITED, PairSamplingClassifier


class ASAM(PairSamplingClassifier):
    """Accelerated stochastic AUC maximisation: the smoothed pairwise hinge loss, by gradients on random pairs.

    Parameters
    ----------
    alpha : float, default=1e-3
        Regularisation strength, above 0: the penalty ``alpha/2 |w|^2`` to the mean loss of a pair. The paper's lambda,
        whose values are 10^-10 to 10^-7.

    eta0 : float, default=None
        The step is 1 / (alpha t + 1 / eta0) after t steps; the papers' t0 is 1 / (alpha eta0). None takes 1 over the
        mean squared distance of the pairs, and alpha^(-1/4) with variant="paper": Bottou's rule, since the papers leave
        t0 open.

    regularize_every : int, default=16
        Number of steps between two steps of the penalty, each of which makes up for all of them: the papers' rskip.

    average_every : int, default=16
        Number of steps between two weights that are counted in the average: the papers' askip.

    variant : {"adaptive", "paper"}, default="adaptive"
        "paper" takes the paper's own steps, on the columns as they are; the notes list what differs.

    standardize : bool, default=None
        Whether `fit` works on columns divided by their standard deviations. None is True, and False with
        variant="paper". With variant="adaptive" `fit` also centres the columns, even if this is False. The data are not
        changed, and `coef_` is for the columns as they are.

    max_iter : int, default=5
        Number of passes; each takes as many steps as there are rows.

    tol : float, default=None
        `fit` stops when the weights change by no more than this in a pass, relative to their norm. None makes all
        `max_iter` passes.

    warm_start : bool, default=False
        Whether `fit` continues from the state of the last call, random numbers included: two fits of 5 passes are the
        same as one of 10.

    random_state : int, RandomState instance or None, default=None
        The source of the random pairs.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights.

    intercept_ : ndarray of shape (1,)
        Puts zero at the score whose probability is the base rate of the training data.

    classes_ : ndarray of shape (2,)
        The negative and the positive class, sorted.

    state_ : PairState
        The state of the algorithm; `warm_start` continues from it.

    n_iter_ : int
        Passes made.

    convergence_ : ndarray of shape (`n_iter_`,)
        The number that `tol` is compared with, after each pass.

    calibration_ : ndarray of shape (2,)
        Slope and offset of the log-odds of `predict_proba` in `decision_function`.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X had them.

    See Also
    --------
    PSAM : With proximal steps, on the hinge loss itself.

    Notes
    -----
    What the default does otherwise than the paper, and why. A gain is that in mean test AUC over the default with this
    alone as in the paper, on ten data sets (docs/variants.md):

    - columns are standardised (a shift changes no pair): the penalty then does not depend on their units. Gain:
      +0.0365.
    - eta0 follows the scale of the rows: Bottou's rule is for pairs of norm 1 or so, and its first steps on others move
      a score by hundreds. Gain: +0.0005.
    - no step is longer than ``(1 - w.z) / |z|^2``, which takes the pair to its target, as in PSAM: pairs that are much
      longer than others cannot do harm. Gain: +0.0004.

    With the longer first steps of Bottou's rule the limit may change much: on spambase as distributed, alpha=1e-8, one
    pass of the paper variant has an AUC of 0.78, that of PSAM 0.87.

    The defaults were chosen on validation rows of eight data sets: on none of them was another alpha up to 0.01 better
    by more than 0.002 in AUC, for ASAM or PSAM.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import ASAM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = ASAM(random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.99)
    True
    """

    _by_variant = {**PairSamplingClassifier._by_variant, "_limited": (True, False)}  # noqa: RUF012

    @property
    def _step(self) -> int:
        return LIMITED if self._chosen("_limited") else GRADIENT

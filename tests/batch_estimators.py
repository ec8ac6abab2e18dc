"""The estimators that fit rows wherever these are: tests of each place go through this list."""

from sklearn.model_selection import StratifiedKFold

from aucmax import BAM, AUCClassifier, GaussianAUC, GaussianError, LogisticDescent, PairwiseDescent

ALPHAS = (3.0, 0.3, 0.03)
SQUARES = (  # exact: their weights are the same to 1e-10
    AUCClassifier("squared", alpha=0.1),
    AUCClassifier("squared"),
    AUCClassifier("pooled", alphas=ALPHAS, cv=StratifiedKFold(3)),
    AUCClassifier("squared", solver="dual", alpha=0.1),
    AUCClassifier("squared", solver="cg", alpha=0.1, tol=1e-12),
    AUCClassifier(n_nonzero=[1, 3], alphas=ALPHAS, cv=3),
    GaussianAUC(),
)
OTHERS = (  # to 1e-8
    AUCClassifier(),
    AUCClassifier(selection="best", standardize=False),
    AUCClassifier(alphas=ALPHAS, cv=StratifiedKFold(3)),
    AUCClassifier("squared_hinge", alphas=ALPHAS, cv=3, tol=1e-10),
    AUCClassifier("hinge", alpha=0.3, tol=1e-2),
    AUCClassifier("logistic", alphas=ALPHAS, cv=StratifiedKFold(3), tol=1e-10),
    AUCClassifier("logistic", alpha=0.1, solver="cg", tol=1e-10),
    AUCClassifier("exponential", alpha=0.1, tol=1e-10),
    AUCClassifier("sigmoid", alpha=1.0),
    AUCClassifier("balanced_logistic", alphas=ALPHAS, cv=3, tol=1e-10),
    AUCClassifier("smooth_auc", alpha=0.1),
    AUCClassifier(penalty="l1"),
    AUCClassifier(penalty="elasticnet", alphas=ALPHAS, cv=3),
    AUCClassifier(n_nonzero=2, alpha=0.1, solver="cg"),
    BAM(tol=1e-9),
    GaussianError(),
    PairwiseDescent("logistic", alpha=0.1),
    LogisticDescent(alpha=0.3, tol=1e-3),
)
# One of each kind: the blend, a loss of pairs, one of rows, a sparse fit, an algorithm. The rest is slow.
FAST = tuple(OTHERS[k] for k in (0, 6, 7, 13, 14))

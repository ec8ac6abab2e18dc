"""SGDClassifier: the hinge or the logistic loss of single rows, by stochastic gradients."""

from aucmax.papers.registry import powers, standardized

COMPETITOR = standardized(
    "SGDClassifier",
    "sklearn.linear_model:SGDClassifier",
    {"alpha": powers(10, -4, 0), "loss": ["hinge", "log_loss"]},
    family="linear",
)

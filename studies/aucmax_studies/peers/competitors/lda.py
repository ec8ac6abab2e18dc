"""LinearDiscriminantAnalysis, with a tuned shrinkage of its covariance."""

from aucmax.papers.registry import standardized

COMPETITOR = standardized(
    "LinearDiscriminantAnalysis",
    "sklearn.discriminant_analysis:LinearDiscriminantAnalysis",
    {"shrinkage": [None, "auto", 0.001, 0.01, 0.1, 0.5, 0.9]},
    parameters={"solver": "lsqr"},
    family="linear",
    takes_sparse=False,
)

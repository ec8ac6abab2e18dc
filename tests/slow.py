"""Sweeps of which `make test` runs one case of each kind, and `make test-all` the rest."""

import pytest

# One algorithm of each file of the papers, and of the other models one of each kind.
ALGORITHMS = ("OPAUC", "SOLAM", "SPAM", "SPDAM", "FSAUC", "SHTAUC", "PSAM", "OAM", "CBR", "UniSqu")
MODELS = (
    *ALGORITHMS,
    "AUCClassifier",
    "TableClassifier",
    "TableEncoder",
    "GaussianAUC",
    "BAM",
    "NSOLAM",
    "OPAUCpca",
)


def slow_except(fast, cases):
    """Return the cases as parameters, those not in `fast` marked as slow."""
    parameters = [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]
    assert any(case in fast for case in cases)
    return parameters

"""What the Tab key offers for `fit --algorithm`; Typer keeps what begins with the typed letters."""

from ..algorithms import ALGORITHMS

FITTED = ("AUCClassifier", "AdditiveAUCClassifier", *ALGORITHMS)


def algorithm_names() -> list[str]:
    """Return the algorithms that `aucmax fit` takes."""
    return list(FITTED)

"""What the Tab key offers for `fit --algorithm` and `reproduce`; Typer keeps what begins with the typed letters."""

from ..papers import ALGORITHMS

FITTED = ("AUCClassifier", "AdditiveAUCClassifier", *ALGORITHMS)


def algorithm_names() -> list[str]:
    """Return the algorithms that `aucmax fit` takes."""
    return list(FITTED)


def study_names() -> list[str]:
    """Return the published tables and figures."""
    from ..reproduce.study_file import list_studies

    return list_studies()

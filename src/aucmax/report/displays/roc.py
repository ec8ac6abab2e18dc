"""ROCDisplay: the ROC curve with its confidence band, or the curves of several folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..._compat import _safe_indexing
from ...metrics import _check_labels, _check_scores
from ...rows.dispatch import label_mask
from ..evaluation import Evaluation, evaluate
from .base import AREA_ALPHA, PALETTE, Display, Key, scores_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ROCDisplay(Display):
    """The ROC curve with its confidence band, and the area with DeLong's interval.

    Use :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_cv_results` to make one. With
    several folds, each has a thin curve; the thick one is the mean of their true positive rates at each false positive
    rate.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        What was measured, on one set of rows or on the test rows of each fold.
    name : str, default=""
        The name of the model in the legend.
    color : str, default="C0"
        The colour of the curve, as matplotlib names it.

    See Also
    --------
    roc_auc_ci : The area with its interval.
    compare_auc : The test of two areas on the same rows.
    ScoresDisplay : The scores of the two classes.

    Notes
    -----
    The band is for each false positive rate separately. It is a stratified bootstrap, made at least as wide as
    Wilson's interval; see :func:`aucmax.report.evaluation.evaluate`.

    Examples
    --------
    >>> from aucmax import ROCDisplay
    >>> display = ROCDisplay.from_predictions([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6])
    >>> display.keys[0].text
    'AUC 0.8889 (0.5809 to 1.0000)'
    """

    size = (4.6, 4.6)
    title = "ROC curve"

    def __init__(self, evaluations: Sequence[Evaluation], *, name: str = "", color: str = "C0") -> None:
        self.evaluations = list(evaluations)
        self.name, self.color, self.palette = name, color, PALETTE | {"accent": color}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        confidence_level: float = 0.95,
        name: str | None = None,
        color: str = "C0",
        ax: Any = None,
    ) -> Self:
        """Draw the ROC curve of a fitted classifier.

        Parameters
        ----------
        name : str, default=None
            The name in the legend; None for the class of the estimator.
        """
        name = type(estimator).__name__ if name is None else name
        scores, _ = scores_of(estimator, X, pos_label)
        return cls.from_predictions(
            y, scores, pos_label=pos_label, confidence_level=confidence_level, name=name, color=color, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        scores: Any,
        *,
        pos_label: Any = None,
        confidence_level: float = 0.95,
        name: str = "",
        color: str = "C0",
        ax: Any = None,
    ) -> Self:
        """Draw the ROC curve of scores."""
        return cls([_evaluate(label_mask(y, pos_label), scores, confidence_level)], name=name, color=color).plot(ax)

    @classmethod
    def from_cv_results(
        cls, cv_results: Mapping[str, Any], X: Any, y: Any, *, name: str = "", color: str = "C0", ax: Any = None
    ) -> Self:
        """Draw the ROC curves of the test rows of each fold.

        Parameters
        ----------
        cv_results : dict
            What :func:`sklearn.model_selection.cross_validate` returns with ``return_estimator=True`` and
            ``return_indices=True``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows that were cross-validated.
        """
        if missing := [key for key in ("estimator", "indices") if key not in cv_results]:
            raise ValueError(
                f"cv_results lacks {' and '.join(missing)}: "
                "call cross_validate with return_estimator=True and return_indices=True."
            )
        evaluations = []
        for estimator, test in zip(cv_results["estimator"], cv_results["indices"]["test"], strict=True):
            scores, _ = scores_of(estimator, _safe_indexing(X, test))
            evaluations.append(_evaluate(_safe_indexing(y, test), scores, 0.95))
        return cls(evaluations, name=name, color=color).plot(ax)

    @property
    def keys(self) -> list[Key]:
        """The entries of the legend."""
        auc, aucs = self.evaluations[0].auc, [each.auc.auc for each in self.evaluations]
        text = f"AUC {auc.auc:.4f} ({auc.low:.4f} to {auc.high:.4f})"
        if len(aucs) > 1:
            text = f"mean AUC {np.mean(aucs):.4f}, folds {min(aucs):.4f} to {max(aucs):.4f}"
        return [Key("line", "accent", f"{self.name}: {text}" if self.name else text), Key("dots", "muted", "chance")]

    def paint(self, axes: Axes, colours: Mapping[str, Any]) -> None:
        """Draw on axes, in the colours of these roles."""
        axes.plot([0, 1], [0, 1], color=colours["muted"], linestyle=":", linewidth=1)
        curves = [each.roc for each in self.evaluations]
        if len(curves) > 1:
            for curve in curves:
                axes.plot(curve.fpr, curve.tpr, color=colours["accent"], linewidth=0.8, alpha=0.4)
            fpr = np.unique(np.concatenate([curve.fpr for curve in curves]))
            tpr = np.mean([np.interp(fpr, curve.fpr, curve.tpr) for curve in curves], axis=0)
            axes.plot(np.append(0.0, fpr), np.append(0.0, tpr), color=colours["accent"], linewidth=2)
        else:
            (curve,) = curves
            axes.fill_between(curve.fpr, curve.low, curve.high, color=colours["accent"], alpha=AREA_ALPHA, linewidth=0)
            axes.plot(curve.fpr, curve.tpr, color=colours["accent"])
        axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))

    def plot(self, ax: Any = None) -> Self:
        """Draw with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure. Several displays may share axes.
        """
        super().plot(ax)
        self.ax_.set_aspect("equal")
        return self


def _evaluate(y: Any, scores: Any, confidence_level: float) -> Evaluation:
    values = _check_scores(scores, "scores")
    return evaluate(_check_labels(y, values)[1], values, confidence_level=confidence_level)

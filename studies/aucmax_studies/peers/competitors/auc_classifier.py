"""AUCClassifier with its defaults: loss and alpha by its own cross-validation."""

from aucmax.compare.methods import METHODS

COMPETITOR = METHODS["AUCClassifier"]._replace(note="tunes itself, by 5 folds or more of all rows")

"""The search for a model: candidates, folds, choice, calibration."""

"""
GridSearchCV and pipelines
==========================

`score` is the AUC. So :class:`~sklearn.model_selection.GridSearchCV` and
:func:`~sklearn.model_selection.cross_validate` maximise and report it without being told.
"""

# %%
# A pipeline of a scaler, kernel features and the classifier, and a grid over the kernel.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifier, KMeansNystroem, PathDisplay, ROCDisplay

X, y = make_moons(400, noise=0.35, random_state=0)
model = make_pipeline(StandardScaler(), KMeansNystroem(random_state=0), AUCClassifier("squared", alpha=0.01))
grid = {"kmeansnystroem__n_components": [5, 20, 80], "kmeansnystroem__gamma": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]}
search = GridSearchCV(model, grid, cv=5).fit(X, y)
print(search.best_params_, round(search.best_score_, 4))

# %%
# The AUC of the grid, and the ROC curves of the five folds of the best pipeline.

results = cross_validate(search.best_estimator_, X, y, cv=5, return_estimator=True, return_indices=True)

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
scores = search.cv_results_["mean_test_score"].reshape(len(grid["kmeansnystroem__gamma"]), -1)
image = left.imshow(scores.T, aspect="auto", origin="lower", cmap="viridis")
left.set_xticks(range(scores.shape[0]), grid["kmeansnystroem__gamma"])
left.set_yticks(range(scores.shape[1]), grid["kmeansnystroem__n_components"])
left.set(xlabel="gamma", ylabel="landmarks", title="cross-validated AUC")
for place, score in np.ndenumerate(scores):
    left.text(
        *place, f"{score:.3f}", ha="center", va="center", color="white" if score < scores.max() - 0.02 else "black"
    )
ROCDisplay.from_cv_results(results, X, y, ax=right)

# %%
# Alpha needs no grid search: the classifier cross-validates a whole path itself, which takes one eigendecomposition
# for each fold.

features = model[:-1].set_params(**search.best_params_).fit_transform(X)
path = PathDisplay.from_estimator(AUCClassifier("squared").fit(features, y))

"""
A spiral, with kernel features
==============================

No line ranks a spiral. :class:`~aucmax.KMeansNystroem` makes features whose inner products approximate a Gaussian
kernel. A linear classifier on these features has curved boundaries.
"""

# %%
# Two arms, the second of which is the positive class.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from aucmax import AUCClassifier, KMeansNystroem, roc_auc


def draw_rows(n_rows, seed):
    """Return points on two arms of a spiral, with noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    angle = 1.5 + 9 * np.sqrt(rng.random(n_rows))
    arm = np.column_stack([np.cos(angle + np.pi * y), np.sin(angle + np.pi * y)])
    return angle[:, None] * arm / 10 + rng.normal(scale=0.06, size=(n_rows, 2)), y


X, y = draw_rows(1000, 0)
X_test, y_test = draw_rows(4000, 1)

# %%
# The scores with more and more landmarks, which are the crosses. Sixty are enough here.

side = np.linspace(-1.3, 1.3, 120)
places = np.column_stack([each.ravel() for each in np.meshgrid(side, side)])
figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained", sharex=True, sharey=True)
for ax, n_components in zip(axes, (6, 20, 60), strict=True):
    model = make_pipeline(KMeansNystroem(n_components, gamma=10, random_state=0), AUCClassifier("squared"))
    model.fit(X, y)
    scores = model.predict_proba(places)[:, 1].reshape(len(side), -1)
    ax.contourf(side, side, scores, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.8)
    for label, color in ((0, "tab:blue"), (1, "tab:red")):
        ax.plot(*X[y == label].T, ".", color=color, markersize=2)
    ax.plot(*model[0].components_.T, "x", color="black", markersize=5)
    auc = roc_auc(y_test, model.decision_function(X_test))
    ax.set_title(f"{n_components} landmarks, test AUC {auc:.3f}", fontsize="medium")
    ax.set(aspect="equal", xticks=[], yticks=[])

"""
Calibrated probabilities
========================

The AUC is about order, and scores of a good order can be any numbers. `predict_proba` turns them into probabilities
by a logistic curve. After cross-validation, the curve is fitted to *held-out* scores. If alpha is given there are
none, and the curve is fitted to the scores of the training rows, which are too good: the probabilities are too sure
of themselves.
"""

# %%
# 400 rows of 100 columns to train on, so that a fit can nearly learn its rows by heart.

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from aucmax import AUCClassifier

X, y = make_classification(
    n_samples=10_400, n_features=100, n_informative=10, n_redundant=0, weights=[0.8], class_sep=0.7, random_state=3
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, random_state=0)

models = {
    "cross-validated": AUCClassifier("squared").fit(X_train, y_train),
    "alpha given": AUCClassifier("squared", alpha=1e-3).fit(X_train, y_train),
}

# %%
# On the diagonal, of the rows with a probability of 0.8 four in five are positive. The curve from held-out scores is
# close to it.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for (name, model), color in zip(models.items(), ("C0", "C1"), strict=True):
    CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=12, name=name, ax=left, color=color)
    probability = model.predict_proba(X_test)[:, 1]
    right.hist(probability, bins=40, range=(0, 1), histtype="step", linewidth=1.6, label=name, color=color)
    print(f"{name}: log-loss {log_loss(y_test, probability):.3f}, test AUC {model.score(X_test, y_test):.3f}")
right.axvline(y_train.mean(), color="0.5", linestyle=":", label="base rate: the threshold of predict")
right.set(xlabel="probability", ylabel="test rows")
right.legend(fontsize="small")

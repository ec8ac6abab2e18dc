"""
PSAM and ASAM: steps that cannot overshoot
==========================================

Both take one random pair of a positive and a negative row at a time. ASAM follows the gradient of a smoothed hinge,
PSAM takes the proximal map of the hinge. A gradient says where to go but not how far; the proximal map stops where the
pair has its margin.
"""

# %%
# Ten columns, two of which are exponential: some pairs are far longer than others.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import ASAM, PSAM, AUCClassifier

rng = np.random.default_rng(0)
y = np.arange(2000) % 5 == 0
X = rng.standard_normal((2000, 10)) + 0.4 * y[:, None]
X[:, :2] *= rng.exponential(1, (2000, 1))
X = (X - X.mean(axis=0)) / X.std(axis=0)


def mean_hinge(model):
    """Return the mean hinge of all pairs."""
    scores = model.decision_function(X)
    return np.maximum(0, 1 - scores[y][:, None] + scores[~y]).mean()


# %%
# Left, the margin of a pair after one step, by its margin before. The step of PSAM takes a pair to its margin of one at
# most. A step of ASAM as long as three times the margin takes it far beyond.
#
# Right, the mean hinge of all pairs after one pass, by the length of the first step. With the paper's steps ASAM leaves
# the minimum far behind once steps are too long, PSAM stays within a small multiple of it. By default ASAM does not
# step past the margin either, and then the two are nearly one algorithm.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
before = np.linspace(-2, 1.5, 200)
for step, style in ((0.5, ":"), (3.0, "-")):
    asam = before + step * np.clip(1 - before, 0, 1)
    psam = before + np.clip(1 - before, 0, step)
    left.plot(before, asam, "C3" + style, label=f"ASAM, step {step:g}")
    left.plot(before, psam, "C0" + style, label=f"PSAM, step {step:g}")
left.axhline(1, color="0.6", linewidth=1)
left.set(xlabel="margin of a pair before a step", ylabel="margin after it")
left.legend(fontsize="small", loc="upper left")

first_steps = np.geomspace(1e-4, 1e2, 13)
for name, kind, variant, style in (
    ("ASAM, as in the paper", ASAM, "paper", "C3-"),
    ("PSAM, as in the paper", PSAM, "paper", "C0-"),
    ("ASAM", ASAM, "adaptive", "C3o"),
    ("PSAM", PSAM, "adaptive", "C0."),
):
    models = [kind(variant=variant, alpha=1e-6, eta0=eta0, max_iter=1, random_state=0) for eta0 in first_steps]
    right.plot(first_steps, [mean_hinge(model.fit(X, y)) for model in models], style, label=name)
least = mean_hinge(AUCClassifier("hinge", alpha=1e-6).fit(X, y))
right.axhline(least, color="black", linewidth=1, label="minimum")
right.set(xscale="log", yscale="log", xlabel="first step, eta0", ylabel="mean hinge of all pairs")
right.legend(fontsize="small", loc="upper left")

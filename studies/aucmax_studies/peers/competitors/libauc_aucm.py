"""LibAUC's AUC-margin loss on a linear layer of PyTorch, by its optimiser PESG, as its documentation does it.

Yuan, Yan, Sonka and Yang (2021), Large-scale robust deep AUC maximization. Batches are drawn without regard to the
classes. After half and after three quarters of the passes the step is divided by ten, and PESG moves its reference.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from aucmax.papers.registry import standardized

BATCH, EPOCHS = 256, 20


class LinearAUCM(ClassifierMixin, BaseEstimator):
    """A linear layer fitted to the AUC-margin loss."""

    def __init__(self, lr: float = 0.1, weight_decay: float = 1e-5, random_state: int = 0) -> None:
        self.lr = lr
        self.weight_decay = weight_decay
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> LinearAUCM:
        """Fit the layer by passes over shuffled batches."""
        import torch
        from libauc.losses import AUCMLoss
        from libauc.optimizers import PESG

        torch.manual_seed(self.random_state)
        torch.set_num_threads(1)
        rows, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
        layer = torch.nn.Linear(X.shape[1], 1)
        loss = AUCMLoss(imratio=float(y.mean()), device="cpu")
        steps = PESG(
            layer.parameters(), loss_fn=loss, lr=self.lr, weight_decay=self.weight_decay, verbose=False, device="cpu"
        )
        for epoch in range(EPOCHS):
            if epoch in (EPOCHS // 2, 3 * EPOCHS // 4):
                steps.update_regularizer(decay_factor=10)
            for batch in torch.randperm(len(rows)).split(BATCH):
                steps.zero_grad()
                loss(layer(rows[batch]), labels[batch], auto=False).backward()
                steps.step()
        self.classes_ = np.unique(y)
        self.coef_ = layer.weight.detach().numpy().astype(np.float64)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of rows."""
        return X @ self.coef_[0]


COMPETITOR = standardized(
    "LibAUC AUCM",
    LinearAUCM,
    {"lr": [0.001, 0.01, 0.1, 1.0, 10.0], "weight_decay": [1e-5, 1e-2]},
    family="linear",
    requires=("torch", "libauc"),
    takes_sparse=False,
    note=f"PESG, {EPOCHS} passes over batches of {BATCH} rows",
)

"""Kernel rankings on a GPU, for the study `gpu`, next to plain calls of the library and a pass on the processor."""

from typing import Any

from array_api_compat import device as device_of

from aucmax import AUCClassifier, KMeansNystroem, roc_auc
from aucmax.rows.arrays import namespace, place_beside, to_numpy

from .library import Library, timed

PROCESSOR_OPERATIONS, PLAIN_OPERATIONS = 3e12, 3e14  # beyond which a pass is extrapolated


def plain_sums(X: Any, y: Any, kernel: KMeansNystroem) -> list[tuple[int, Any, Any]]:
    """Return the number of rows of each class, and the sums of their features and of their products."""
    xp = namespace(X)
    U, N = (place_beside(values, X, xp.float64) for values in (kernel.components_, kernel.normalization_))
    norms, found = xp.sum(U * U, axis=1), []
    for side in (~y, y):
        rows = xp.take(X, xp.nonzero(side)[0], axis=0)
        sums, products, step = 0.0, 0.0, max(2**27 // N.shape[0], 1)
        for start in range(0, rows.shape[0], step):
            block = rows[start : min(start + step, rows.shape[0]), :]
            squares = xp.sum(block * block, axis=1)[:, None] - 2 * (block @ U.T) + norms
            features = xp.exp(-kernel.gamma_ * squares) @ N
            sums, products = sums + xp.sum(features, axis=0), products + features.T @ features
        found.append((rows.shape[0], sums, products))
    return found


def plain_weights(found: list[tuple[int, Any, Any]], alpha: float) -> Any:
    """Return the minimiser of the square loss of all pairs with a penalty, for features as they are."""
    means = [sums / n for n, sums, _ in found]
    covariances = [products / n - mean[:, None] * mean for (n, _, products), mean in zip(found, means, strict=True)]
    xp = namespace(means[0])
    M = covariances[0] + covariances[1]
    M += alpha * xp.linalg.trace(M) / M.shape[0] * xp.eye(M.shape[0], dtype=M.dtype, device=device_of(M))
    return xp.linalg.solve(M, (means[1] - means[0])[:, None])[:, 0]


def time_plain(library: Library, X: Any, y: Any, kernel: KMeansNystroem, alpha: float) -> dict[str, Any]:
    """Return what a fit by plain calls of the library takes."""
    n = X.shape[0]
    n_few = min(n, int(PLAIN_OPERATIONS / (4 * kernel.normalization_.size)))
    plain_sums(X[: min(n_few, 1000), :], y[: min(n_few, 1000)], kernel)  # loads what is needed
    sums: list[Any] = []
    seconds = library.once(lambda: sums.extend(plain_sums(X[:n_few, :], y[:n_few], kernel))) * n / n_few
    solving = library.once(lambda: plain_weights(sums, alpha))
    return {"torch": seconds + solving, "torch_is": "one alpha" + (", extrapolated" if n_few < n else "")}


def time_processor(X: Any, y: Any, kernel: KMeansNystroem) -> dict[str, Any]:
    """Return what one pass over the features takes on the processor."""
    n = X.shape[0]
    n_few = min(n // 2, int(PROCESSOR_OPERATIONS / (3 * kernel.normalization_.size)) // 2)
    memory = 2.0**40  # that of the machine is the limit

    def once(n_rows: int) -> float:
        rows = kernel.rows(to_numpy(X[:n_rows, :]), to_numpy(y[:n_rows]), memory=memory)
        return timed(rows.moments)[0]

    once(min(n_few, 1000))  # wakes the threads
    short, long = once(n_few), once(2 * n_few)
    each = max(long - short, 0.0) / n_few
    return {"processor": long + each * (n - 2 * n_few), "processor_is": "one pass, extrapolated"}


def measure_kernel(
    library: Library, n: int, d: int, landmarks: int, alpha: float | None, processor: bool
) -> list[dict[str, Any]]:
    """Measure a kernel ranking, from the landmarks to the weights; alpha is cross-validated unless it is given."""
    X = library.normal(n, d)
    # Only products of columns tell the classes apart: no linear score does.
    signal = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4] ** 2
    y = signal + library.normal(n) > 1.5
    n_test = min(n // 10, 200_000)
    test, train = (X[:n_test, :], y[:n_test]), (X[n_test:, :], y[n_test:])
    side = min(8192, n)
    square = library.normal(side, side)
    per_operation = library.seconds(lambda: square.T @ square, 2) / (2 * side**3)

    kernel = KMeansNystroem(landmarks, random_state=0)
    clf = AUCClassifier("squared", alpha=alpha, solver="moments")
    finding = library.once(lambda: kernel.fit(train[0]))
    print(f"{landmarks:,} landmarks in {finding:.1f} s", flush=True)
    seconds = finding + library.once(lambda: clf.fit_rows(kernel.rows(*train)))
    result = {
        "what": f"kernel ranking of {n - n_test:,} x {d}, {landmarks:,} landmarks"
        + ("" if alpha is None else ", alpha given"),
        "seconds": seconds,
        "landmarks_seconds": finding,
        "squares_before": bool(kernel.rows(*test)._linear.squares_before),
        "products": 2 * (n - n_test) * landmarks**2 * per_operation,
        "auc": roc_auc(test[1], kernel.rows(*test).scores(clf.coef_[0]).array),
        "landmarks": landmarks,
        "alpha": float(clf.alpha_),
        "linear_auc": AUCClassifier("squared").fit(*train).score(*test),
    }
    if library.name == "torch":
        result |= time_plain(library, *train, kernel, float(clf.alpha_))
    if processor:
        result |= time_processor(*train, kernel)
    return [result]

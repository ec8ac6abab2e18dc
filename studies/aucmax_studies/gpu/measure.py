"""Fits and measures on a GPU, beside the same on the processor, beside PyTorch, and beside the products alone.

    python -m aucmax_studies gpu --measure --only moments fit scores
    python -m aucmax_studies gpu --measure --only kernel
    python -m aucmax_studies gpu --measure --only kernel --landmarks 20000 --no-processor
    python -m aucmax_studies gpu --measure --only kernel --landmarks 40000 --no-processor
    python -m aucmax_studies gpu --write docs/measured/scale.md

The first four commands measure, in about two, five, three and ten minutes on an H200, and print and save each result,
beside those that were saved before. The last one writes the saved results into a page, and needs no GPU. All data are
made on the device, from fixed seeds, in float64. Times are medians of calls after one that compiles, and include all
copies to the host; those of the processor and of the kernel rankings are of one call.

- **moments**: the class moments of both classes, beside X'X by one call of the library, and beside the covariances of
  both classes by PyTorch.
- **fit**: `AUCClassifier()` with its defaults, which compares dozens of candidates and calibrates probabilities, beside
  a single fit by PyTorch: the balanced logistic loss without a penalty, by L-BFGS. Also the largest difference of the
  weights from those of the processor, relative to the largest weight.
- **scores**: the AUC and the logistic loss of all pairs, value and gradient. PyTorch sorts all scores for the AUC. For
  the pairs it computes the loss of 10^8 pairs, and the time for all of them is extrapolated from that.
- **kernel**: `AUCClassifier("squared")` on features of a Gaussian kernel that are never all in memory, with alpha
  chosen by five-fold cross-validation (above 8,192 landmarks, whose moments of all folds take tens of GB, that of the
  next fewer), beside the product of the kernel with itself: 2 n m^2 operations at the speed of a square product. The
  landmarks are k-means centres, found on the device; their time is part of the fit. PyTorch makes the same features,
  sums their products and solves the linear system of one alpha; landmarks and eigenvectors are given to it. The
  processor's time is that of one pass alone, for the class moments of the features. Where all rows would take long,
  both are extrapolated: from some of the rows, and the processor's from two numbers of rows, so that what a pass takes
  whatever its rows counts once.
"""

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from aucmax import AUCClassifier, pairwise_loss, roc_auc
from aucmax.rows.arrays import to_numpy
from aucmax.rows.device.rows import DeviceRows
from aucmax.rows.memory import MemoryRows

from .. import RESULTS_DIR
from ..common.markdown import replace_between
from .kernel import measure_kernel
from .library import Library, timed

RESULTS = RESULTS_DIR / "gpu.json"
PARTS = ("moments", "fit", "scores", "kernel")
FOLDS_UP_TO = 8192  # landmarks; with more, alpha is given
HEADER = ("what", "library", "GPU", "processor", "times faster", "PyTorch", "times faster", "beside the products")


def rows_of(library: Library, n: int, d: int) -> tuple[Any, Any]:
    """Return rows and labels: a noisy line with three in ten rows positive."""
    X = library.normal(n, d)
    w = library.put(np.random.default_rng(1).standard_normal(d) / np.sqrt(d))
    return X, X @ w + library.normal(n) > 0.74  # the quantile of the sum of two normal values


def measure_moments(library: Library, n: int, d: int, repeats: int, processor: bool) -> list[dict[str, Any]]:
    """Measure the class moments."""
    X, y = rows_of(library, n, d)
    rows = DeviceRows.of(X, y)
    result = {"what": f"class moments of {n:,} x {d}", "seconds": library.seconds(rows.moments, repeats)}
    result["products"] = library.seconds(lambda: X.T @ X, repeats)
    result["operations"] = 2 * n * d**2
    if library.name == "torch":

        def covariances() -> Any:
            return library.xp.cov(X[y].T), library.xp.cov(X[~y].T)

        result["torch"] = library.seconds(covariances, repeats)
    if processor:
        host = MemoryRows(to_numpy(X), to_numpy(y), np.array([False, True]))
        host.take(np.arange(d)).moments()  # wakes the threads
        result["processor"], expected = timed(host.moments)
        found = rows.moments().scatter
        result["difference"] = float(np.abs(found - expected.scatter).max() / np.abs(expected.scatter).max())
    return [result]


def logistic_by_torch(X: Any, y: Any) -> Any:
    """Return the weights that minimise the logistic loss with classes of equal weight, by L-BFGS."""
    import torch

    w = torch.zeros(X.shape[1] + 1, dtype=X.dtype, device=X.device, requires_grad=True)
    optimizer = torch.optim.LBFGS([w], max_iter=50, line_search_fn="strong_wolfe", tolerance_change=1e-9)
    target = y.to(X.dtype)
    weights = target / target.mean() + (1 - target) / (1 - target).mean()

    def closure() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(X @ w[1:] + w[0], target, weights)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()[1:]


def measure_fit(library: Library, n: int, d: int, repeats: int, processor: bool) -> list[dict[str, Any]]:
    """Measure fits: the default, and two losses with an alpha that is given."""
    X, y = rows_of(library, n, d)
    host = (to_numpy(X), to_numpy(y)) if processor else None
    results = []
    for estimator in (AUCClassifier(), AUCClassifier("squared"), AUCClassifier("logistic", alpha=1e-3, tol=1e-8)):
        result: dict[str, Any] = {"what": f"`{estimator!r}.fit`, {n:,} x {d}"}
        result["seconds"] = library.seconds(lambda e=estimator: e.fit(X, y), repeats)
        result["auc"] = estimator.score(X, y)
        if library.name == "torch" and estimator.loss == "auto":
            result["torch"] = library.seconds(lambda: logistic_by_torch(X, y), repeats)
            result["torch_auc"] = roc_auc(y, X @ logistic_by_torch(X, y))
        if host is not None:
            weights = estimator.coef_
            clone(estimator).fit(*(values[: min(n, 20_000)] for values in host))  # compiles
            result["processor"], fitted = timed(lambda e=estimator, host=host: e.fit(*host))
            size = np.abs(fitted.coef_).max()
            result["difference"] = float(np.abs(weights - fitted.coef_).max() / size)
        results.append(result)
    return results


def measure_scores(library: Library, n: int, repeats: int, processor: bool) -> list[dict[str, Any]]:
    """Measure the AUC and the logistic loss of all pairs."""
    scores, y = library.normal(n), library.normal(n) > 0.5
    auc = {"what": f"AUC of {n:,} scores", "seconds": library.seconds(lambda: roc_auc(y, scores), repeats)}
    pairs = {
        "what": f"logistic loss of all pairs of {n:,} scores",
        "seconds": library.seconds(lambda: pairwise_loss(y, scores, "logistic"), repeats),
    }
    if library.name == "torch":
        torch = library.xp

        def by_ranks() -> float:
            ranks = torch.argsort(torch.argsort(scores)) + 1
            n_ones = int(y.sum())
            return float((ranks[y].double().sum() - n_ones * (n_ones + 1) / 2) / (n_ones * (n - n_ones)))

        auc["torch"] = library.seconds(by_ranks, repeats)
        some = scores[: min(n, 10_000)]
        seconds = library.seconds(lambda: torch.nn.functional.softplus(some[:, None] - some).sum(), repeats)
        pairs["torch"] = seconds * int(y.sum()) * int((~y).sum()) / len(some) ** 2
        pairs["torch_is"] = "extrapolated"
    if processor:
        host = to_numpy(y), to_numpy(scores)
        roc_auc(*host), pairwise_loss(*(values[:100_000] for values in host), "logistic")  # compiles
        auc["processor"], expected = timed(lambda: roc_auc(*host))
        auc["difference"] = abs(roc_auc(y, scores) - expected)
        pairs["processor"], point = timed(lambda: pairwise_loss(*host, "logistic"))
        found = to_numpy(pairwise_loss(y, scores, "logistic").gradient)
        pairs["difference"] = float(np.abs(found - point.gradient).max() / np.abs(point.gradient).max())
    return [auc, pairs]


def measure(arguments: argparse.Namespace) -> None:
    """Measure; print and save each result as soon as it is there, in the place of an older one of the same name."""
    saved = json.loads(arguments.results.read_text()) if arguments.results.exists() else {"results": []}
    saved |= {"machine": machine(arguments.library[0]), "date": time.strftime("%Y-%m-%d")}

    def keep(library: Library, results: list[dict[str, Any]]) -> None:
        for result in ({"library": library.name, **result} for result in results):
            names = [(old["library"], old["what"]) for old in saved["results"]]
            name = (result["library"], result["what"])
            place = names.index(name) if name in names else len(names)
            saved["results"][place : place + 1] = [result]
            print(json.dumps(result), flush=True)
        arguments.results.write_text(json.dumps(saved, indent=1) + "\n")
        library.free()

    libraries = [Library(name) for name in arguments.library]
    for library in libraries:
        how = arguments.repeats, library is libraries[0] and not arguments.no_processor
        if "moments" in arguments.only:
            keep(library, measure_moments(library, *arguments.moments, *how))
        if "fit" in arguments.only:
            keep(library, measure_fit(library, *arguments.fit, *how))
        if "scores" in arguments.only:
            keep(library, measure_scores(library, arguments.scores, *how))
    for landmarks in arguments.landmarks if "kernel" in arguments.only else ():
        chosen = {old["landmarks"]: old["alpha"] for old in saved["results"] if "landmarks" in old}
        fewer = [number for number in chosen if number < landmarks]
        alpha = chosen[max(fewer)] if fewer and landmarks > FOLDS_UP_TO else None
        fewest = landmarks == min(arguments.landmarks)
        for library in libraries if fewest else libraries[:1]:
            processor = fewest and library is libraries[0] and not arguments.no_processor
            keep(library, measure_kernel(library, *arguments.kernel, landmarks, alpha, processor))


def machine(name: str) -> str:
    """Return the names of the device and of the processor."""
    device = "no GPU"
    if name == "torch":
        import torch

        device = torch.cuda.get_device_name() if torch.cuda.is_available() else device
    elif name == "cupy":
        import cupy

        device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    from os import cpu_count

    return f"{device}, beside {cpu_count()} cores of {platform.machine()}"


def as_time(seconds: float | None, how: str = "") -> str:
    """Return a time with three digits and its unit."""
    if seconds is None:
        return ""
    unit, factor = ("s", 1) if seconds >= 1 else ("ms", 1000)
    value = seconds * factor
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}" + (f" ({how})" if how else "")


def as_ratio(result: dict[str, Any], other: str) -> str:
    """Return how many times faster we are."""
    if other not in result:
        return ""
    ratio = result[other] / result["seconds"]
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2f}"


def page(saved: dict[str, Any]) -> str:
    """Return the table of the saved results, and what was found beside the times."""
    lines = [f"{saved['machine']}, {saved['date']}.", "", f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|"]
    notes = []
    for result in saved["results"]:
        products = f"{result['products'] / result['seconds']:.0%} of their speed" if "products" in result else ""
        cells = (
            result["what"],
            result["library"],
            as_time(result["seconds"]),
            as_time(result.get("processor"), result.get("processor_is", "")),
            as_ratio(result, "processor"),
            as_time(result.get("torch"), result.get("torch_is", "")),
            as_ratio(result, "torch"),
            products,
        )
        lines.append(f"| {' | '.join(cells)} |")
        found = [
            f"{name.replace('_', ' ')} {result[name]:.5f}"
            for name in ("auc", "linear_auc", "torch_auc")
            if name in result
        ]
        if "landmarks_seconds" in result:
            found.append(f"landmarks in {as_time(result['landmarks_seconds'])}")
        if "difference" in result:
            found.append(f"largest difference from the processor {result['difference']:.1e}")
        if found:
            notes.append(f"- {result['what']} ({result['library']}): {', '.join(found)}.")
    return "\n".join([*lines, "", *notes])


def write(path: Path, saved: dict[str, Any]) -> None:
    """Write the table between the marks of a page, which is made if it is not there."""
    if not path.exists():
        path.write_text("<!-- gpu -->\n<!-- end gpu -->\n", encoding="utf-8")
    replace_between(path, "<!-- gpu -->", "<!-- end gpu -->", page(saved))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure, and save the results")
    parser.add_argument("--only", nargs="+", default=PARTS, choices=PARTS, help="what to measure")
    parser.add_argument("--library", nargs="+", default=["torch", "cupy"], help="torch, cupy or array_api_strict")
    parser.add_argument("--moments", type=int, nargs=2, default=[4_000_000, 512], help="rows and columns")
    parser.add_argument("--fit", type=int, nargs=2, default=[10_000_000, 50], help="rows and columns")
    parser.add_argument("--scores", type=int, default=10**8, help="number of scores")
    parser.add_argument("--kernel", type=int, nargs=2, default=[10_200_000, 28], help="rows and columns")
    parser.add_argument("--landmarks", type=int, nargs="*", default=[4000, 8000, 16000], help="numbers of them")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-processor", action="store_true", help="measure nothing in memory")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are saved")
    parser.add_argument("--write", type=Path, help="the page to write the saved results into")
    arguments = parser.parse_args(argv)
    if arguments.measure:
        measure(arguments)
    if arguments.write:
        write(arguments.write, json.loads(arguments.results.read_text()))


if __name__ == "__main__":
    main()

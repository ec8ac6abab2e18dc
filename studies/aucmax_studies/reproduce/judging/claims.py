"""What each paper claims, and whether the recorded runs show it.

A claim is checked by comparisons, of two methods on a data set for example. Each is for it, against it, or open; those
with one rival are a part of the claim. The verdict counts them, by one rule for all claims:

- *shown*: in each part more than half are for it, and at most a tenth against;
- *shown in part*: otherwise, more are for it than against, over all parts;
- *the opposite*: more than half are against it;
- *not shown*: anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .counts import NEAR
from .criterion import paired_change
from .tables import LOSES, WINS, Contrast, Table, contrast, count_signs

VERDICTS = SHOWN, IN_PART, NOT_SHOWN, OPPOSITE = "shown", "shown in part", "not shown", "the opposite"
# A loss within this of its last value has converged, and so has an AUC within it of its highest value.
CONVERGED = 0.001


class Finding(NamedTuple):
    """What comparisons say of a claim."""

    parts: Sequence[tuple[int, int, int]]  # for each part, how many comparisons are for the claim, open and against it
    text: str  # the same in a sentence

    @property
    def verdict(self) -> str:
        """The verdict by the rule above; "" if nothing was compared."""
        pro, undecided, contra = (sum(counts) for counts in zip(*self.parts, strict=True)) if self.parts else (0, 0, 0)
        if not pro + undecided + contra:
            return ""
        if all(2 * part[0] > sum(part) >= 10 * part[2] for part in self.parts):
            return SHOWN
        if pro > contra:
            return IN_PART
        return OPPOSITE if 2 * contra > pro + undecided + contra else NOT_SHOWN


class Claim(NamedTuple):
    """A claim of a paper."""

    study: str  # the table or figure that shows it; its prefix names the paper
    text: str  # the claim, as the paper states it
    check: Callable[..., Finding]  # from the study beside what was measured, and the arguments, to what it says
    arguments: tuple[Any, ...]


# Two methods by paired t-tests, or by their times


def better(table: Table, first: str, *others: str) -> Finding:
    """Check that a method has higher values than each of the others, by data sets that it wins, ties and loses."""
    found = _contrasts(table, first, others)
    by = f", by {' and '.join(table.metrics)}" if len(table.metrics) > 1 else ""
    return Finding([count_signs(of) for of in found.values()], f"wins/ties/losses{by}: {_tallies(found)}")


def better_by_scaling(table: Table, first: str, other: str) -> Finding:
    """Check that a method has higher values than another one, for each scaling that both were measured with."""
    scalings = {"to [-1, 1]": "", "standardised": ", standardised", "none": ", as distributed"}
    found = {name: contrast(table, first + label, other + label) for name, label in scalings.items()}
    texts = [f"{name} {_slashes(count_signs(of))}" for name, of in found.items() if of]
    return Finding([count_signs(of) for of in found.values() if of], f"wins/ties/losses by scaling: {', '.join(texts)}")


def as_good(table: Table, first: str, *others: str, margin: float = 0.0) -> Finding:
    """Check that a method has values as high as each of the others: it must not lose by more than the margin."""
    found = _contrasts(table, first, others)
    losses = [sum(each.sign < 0 and each.measured < -margin for each in of) for of in found.values()]
    differences = [each.measured for of in found.values() for each in of] or [0.0]
    lower = f"{sum(losses)} of {len(differences)} lower by more than {margin:g}, " if margin else ""
    return Finding(
        [(len(of) - lost, 0, lost) for of, lost in zip(found.values(), losses, strict=True)],
        f"wins/ties/losses: {_tallies(found)}; {lower}median difference {_signed(float(np.median(differences)))}, "
        f"lowest {_signed(min(differences))}",
    )


def about_as_good(table: Table, first: str, *others: str) -> Finding:
    """Check that a method has values as high as each of the others, or lower by no more than `NEAR`."""
    return as_good(table, first, *others, margin=NEAR)


def _contrasts(table: Table, first: str, others: Sequence[str]) -> dict[str, list[Contrast]]:
    found = {other: [each for m in table.metrics for each in contrast(table, first, other, m)] for other in others}
    return {other: of for other, of in found.items() if of}


def _tallies(found: Mapping[str, Sequence[Contrast]]) -> str:
    """Return wins, ties and losses with the rivals that they are of, and beside them what the paper prints."""
    by_counts: dict[str, list[str]] = {}
    for other, of in found.items():
        known = [each for each in of if each.published is not None]
        marks = [each.mark for each in known]
        printed = ""
        if {WINS, LOSES} & set(marks):
            printed = f" (printed {_slashes((marks.count(WINS), marks.count(''), marks.count(LOSES)))})"
        elif known:
            printed = f" (printed higher on {sum((each.published or 0) > 0 for each in known)} of {len(known)})"
        by_counts.setdefault(f"{_slashes(count_signs(of))}{printed}", []).append(other)
    return "; ".join(f"{counts} against {', '.join(others)}" for counts, others in by_counts.items())


def _slashes(counts: tuple[int, int, int]) -> str:
    return "/".join(map(str, counts))


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def faster(table: Table, first: str, *others: str) -> Finding:
    """Check that a method takes less time than others, by median seconds."""
    parts, texts = [], []
    for other in others:
        pairs = [
            [table.cells[data, method, "seconds"] for method in (other, first)]
            for data in table.study.subjects
            if ", " not in data  # data that were measured in another way, too, count once
        ]
        own = [a.median / b.median for a, b in pairs if a.median and b.median]
        printed = [a.published.mean / b.published.mean for a, b in pairs if a.published and b.published]
        if own:
            count = sum(ratio > 1 for ratio in own)
            parts.append((count, 0, len(own) - count))
            known = f" (printed {_span(printed)})" if printed else ""
            texts.append(f"seconds of {other} over {first}: {_span(own)}{known}, more on {count} of {len(own)}")
    return Finding(parts, "; ".join(texts))


def _span(values: Sequence[float]) -> str:
    low, middle, high = (
        f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in np.quantile(values, [0, 0.5, 1])
    )
    return f"{low} to {high}, median {middle}"


# Curves


def _means(table: Table, data: str, method: str, metric: str) -> dict[float, float]:
    curve = table.curves.get((data, method, metric))
    return {point.x: point.mean for point in curve.points} if curve else {}


def _finding(signs: Sequence[int], text: str) -> Finding:
    return Finding([(signs.count(1), signs.count(0), signs.count(-1))], text)


def linear(table: Table, first: str, other: str) -> Finding:
    """Check that the gap of a method falls exponentially; the text has that of another one beside it."""
    signs, texts = [], []
    for data in table.study.subjects:
        own, rival = (_means(table, data, method, "gap") for method in (first, other))
        if own and rival:
            signs.append(1 if _is_exponential(own) else -1)
            texts.append(f"{data} {own[max(own)]:.0e} against {rival[max(rival)]:.0e}")
    at = f"{max(table.study.curve.values):g} passes" if table.study.curve else ""
    return _finding(
        signs,
        f"gap of the objective to its minimum after {at}, {first} against {other}: {', '.join(texts)}. That of {first} "
        f"falls exponentially, and not as a power of the passes, on {signs.count(1)} of {len(signs)} data sets",
    )


def _is_exponential(gaps: dict[float, float]) -> bool:
    """Return whether the last four logarithms of a gap are nearer to a line in x than to one in log x."""
    x = np.array(sorted(gaps))[-4:]
    y = np.log([gaps[each] for each in x])
    exponential, power = (np.polyfit(of_x, y, 1, full=True)[1].sum() for of_x in (x, np.log(x)))
    return bool(exponential < power)


def sooner(table: Table, first: str, other: str) -> Finding:
    """Check that a method has the higher AUC at the last point; the text says from which point on."""
    values, signs, texts = list(table.study.curve.values if table.study.curve else ()), [], []
    for data in table.study.subjects:
        at = [_paired(table, data, first, other, x, x) for x in values]
        if None not in at:
            signs.append(at[-1] or 0)
            ahead = [x for k, x in enumerate(values) if all(sign == 1 for sign in at[k:])]
            texts.append(f"{data} from {min(ahead):g} on" if ahead else f"{data} never")
    return _finding(signs, f"{first} stays ahead of {other}, in passes: {', '.join(texts)}")


def _paired(table: Table, data: str, first: str, other: str, x: float, y: float) -> int | None:
    """Return the sign of the difference of two methods, each at its point of the curve; 0 if the interval has both."""
    ours, theirs = table.results.values(data, first, "auc", x), table.results.values(data, other, "auc", y)
    found = paired_change(theirs, ours)
    return None if found is None else int(np.sign(found[0])) * (abs(found[0]) > found[1])


def larger_batches(table: Table, largest: str, smallest: str) -> Finding:
    """Check that large batches have the higher AUC after as many batches; the text says what holds by passes."""
    large, small = (table.study.methods[name].per_value for name in (largest, smallest))
    batches, signs, turned, texts = max(large, small), [], [], []
    for data in table.study.subjects:
        by_batches = _paired(table, data, largest, smallest, batches // large, batches // small)
        by_passes = _paired(table, data, largest, smallest, 1, 1)
        own, other = (_means(table, data, method, "auc") for method in (largest, smallest))
        if by_batches is not None and by_passes is not None:
            signs.append(by_batches)
            turned.append(by_passes < 0)
            each = f"{data} {own[batches]:.3f} against {other[batches]:.3f}"
            texts.append(f"{each} (after one pass {own[large]:.3f}, {other[small]:.3f})")
    return _finding(
        signs,
        f"AUC after {batches} batches, {largest} against {smallest}: {', '.join(texts)}. "
        f"By passes, which cost the same, the small batches are ahead on {sum(turned)} of {len(turned)}",
    )


def at_once(table: Table, method: str) -> Finding:
    """Check that the first point of a curve is within `CONVERGED` of its highest."""
    found = {data: _means(table, data, method, "auc") for data in table.study.subjects}
    missing = {data: max(curve.values()) - curve[min(curve)] for data, curve in found.items() if curve}
    signs = [1 if value <= CONVERGED else -1 for value in missing.values()]
    texts = ", ".join(f"{data} {value:.4f}" for data, value in missing.items())
    return _finding(signs, f"highest AUC along the curve less that after one epoch: {texts}")


def slower(table: Table, rare: str, even: str) -> Finding:
    """Check that the training loss of lines such as "k* = 20, r = 0.05" converges later than that of another share."""
    method, signs, texts = next(iter(table.study.methods)), [], []
    for panel, lines in table.panels.items():
        late, early = (_means(table, lines[r][0], method, "loss") if r in lines else {} for r in (rare, even))
        if late and early:
            signs.append(int(np.sign(_unconverged(late) - _unconverged(early))))
            texts.append(f"{panel}: {_unconverged(late):g} against {_unconverged(early):g}")
    curves = [curve for data in table.study.subjects if (curve := _means(table, data, method, "auc"))]
    changes = [curve[max(curve)] - curve[min(curve)] for curve in curves] or [0.0]
    return _finding(
        signs,
        f"last epoch with a training loss more than {CONVERGED:g} from its final value, {rare} against {even}: "
        f"{', '.join(texts)}. Test AUC does not show it: from the first epoch to the last it changes by "
        f"{_signed(min(changes))} to {_signed(max(changes))}",
    )


def _unconverged(losses: dict[float, float]) -> float:
    last = losses[max(losses)]
    return max((x for x, loss in losses.items() if abs(loss - last) > CONVERGED), default=0.0)


def rises(table: Table) -> Finding:
    """Check that each method has a lower AUC at the first point of the curve than at the last."""
    ends = {
        method: (curve[min(curve)], curve[max(curve)])
        for data in table.study.subjects
        for method in table.study.methods
        if (curve := _means(table, data, method, "auc"))
    }
    texts = ", ".join(f"{method} {low:.3f} to {high:.3f}" for method, (low, high) in ends.items())
    return _finding([int(np.sign(high - low)) for low, high in ends.values()], f"AUC at both ends: {texts}")


def better_at(table: Table, x: float, first: str, *others: str) -> Finding:
    """Check that a method has a higher AUC than others at a point of a curve."""
    found = {other: contrast(table, first, other, "auc", x) for other in others}
    label = table.study.curve.parameter if table.study.curve else ""
    texts = [
        f"{other} {_slashes(count_signs(of))}, median difference {_signed(float(np.median([d.measured for d in of])))}"
        for other, of in found.items()
        if of
    ]
    text = f"wins/ties/losses of {first} at {label} = {x:g}: {'; '.join(texts)}"
    return Finding([count_signs(of) for of in found.values() if of], text)


ONLINE = ("OAMseq", "OAMgra", "online Uni-Exp", "online Uni-Squ")
BATCH = ("SVM-perf", "batch SVM-OR", "batch LS-SVM", "batch Uni-Log", "batch Uni-Squ")
SPARSE_RIVALS = ("SPAM-l1", "SPAM-l2", "FSAUC", "SOLAM", "StoIHT", "HSG-HT")
CLAIMS = (
    Claim(
        "spdam-figure-1",
        "SPDAM converges linearly.",
        linear,
        ("SPDAM", "regSOLAM"),
    ),
    Claim("spdam-figure-1", "SPDAM converges faster than regSOLAM.", sooner, ("SPDAM", "regSOLAM")),
    Claim("spdam-figure-2", "Larger batches converge faster.", larger_batches, ("SPDAM 20%", "SPDAM 1%")),
    Claim(
        "spdam-figure-2",
        "If the batches are too small, SPDAM ranks very poorly.",
        better_at,
        (100, "SPDAM 20%", "SPDAM 10%", "SPDAM 5%", "SPDAM 1%"),
    ),
    Claim(
        "spdam-table-3",
        "SPDAM and regSOLAM rank about as well as other online and batch methods.",
        about_as_good,
        ("SPDAM", "regSOLAM", "OPAUC", "B-SVM-OR", "B-LS-SVM"),
    ),
    Claim(
        "psam-table-2",
        "PSAM ranks better than the online and stochastic algorithms.",
        better,
        ("PSAM", "OAMseq", "OAMgra", "CBR-FIFO", "SOLAM"),
    ),
    Claim(
        "psam-table-2",
        "PSAM ranks better than ASAM, which has no proximal step; the paper does not say how columns are scaled.",
        better_by_scaling,
        ("PSAM", "ASAM"),
    ),
    Claim("psam-table-2", "PSAM ranks about as well as the batch method BAM.", about_as_good, ("PSAM", "BAM")),
    Claim("psam-table-2", "PSAM trains faster than BAM.", faster, ("PSAM", "BAM")),
    Claim(
        "psam-table-3",
        "On kernel features NPSAM ranks better than NSOLAM and NASAM.",
        better,
        ("NPSAM", "NSOLAM", "NASAM"),
    ),
    Claim("psam-table-3", "NPSAM ranks about as well as the batch method NBAM.", about_as_good, ("NPSAM", "NBAM")),
    Claim("psam-table-3", "NPSAM trains much faster than NBAM.", faster, ("NPSAM", "NBAM")),
    Claim("psam-figure-1", "PSAM is at its optimum after one epoch on most data sets.", at_once, ("PSAM",)),
    Claim(
        "opauc-table-2",
        "In one pass OPAUC ranks better than other online algorithms, and never worse.",
        better,
        ("OPAUC", *ONLINE),
    ),
    Claim("opauc-table-3", "OPAUC is highly competitive with batch algorithms.", about_as_good, ("OPAUC", *BATCH)),
    Claim("opauc-figure-1", "On most data sets OPAUC takes no longer than OAM.", faster, ("OPAUC", "OAMseq", "OAMgra")),
    Claim(
        "opauc-table-5",
        "With 50,000 columns or more OPAUCr ranks better than online algorithms and other ways to fewer columns.",
        better,
        ("OPAUCr", *ONLINE, "OPAUCf", "OPAUCrp", "OPAUCpca"),
    ),
    Claim("sht-table-1", "SHT-AUC has the best AUC on sparse data.", better, ("SHT-AUC", *SPARSE_RIVALS)),
    Claim(
        "sht-table-2",
        "SHT-AUC finds the true features significantly better than any other algorithm.",
        better,
        ("SHT-AUC", *SPARSE_RIVALS),
    ),
    Claim("sht-table-3", "SHT-AUC has the highest AUC on gene expressions.", better, ("SHT-AUC", *SPARSE_RIVALS)),
    Claim("sht-figure-1", "The rarer the positives, the slower SHT-AUC converges.", slower, ("r = 0.05", "r = 0.5")),
    Claim("sht-figure-2", "The rarer the positives, the worse SHT-AUC and all others rank.", rises, ()),
    Claim(
        "sht-figure-2",
        "If positives are rare, algorithms that minimise the error rank far worse than SHT-AUC.",
        better_at,
        (0.05, "SHT-AUC", "StoIHT", "HSG-HT"),
    ),
    Claim(
        "gaussian-table-6",
        "On real data the Gaussian AUC ranks as well as the pairwise hinge loss, on all but two data sets.",
        as_good,
        ("FAUC", "Fhinge"),
    ),
    Claim("gaussian-table-6", "The Gaussian AUC takes much less time than the hinge loss.", faster, ("FAUC", "Fhinge")),
    Claim(
        "gaussian-table-5",
        "On Gaussian data with outliers the Gaussian AUC ranks better than the hinge loss.",
        better,
        ("FAUC, approximate moments", "Fhinge"),
    ),
    Claim(
        "gaussian-table-4",
        "On real data the least Gaussian error is as accurate as logistic regression, on all but two data sets.",
        as_good,
        ("Ferror", "Flog"),
    ),
    Claim(
        "gaussian-table-2",
        "On Gaussian data with outliers the least Gaussian error is more accurate than logistic regression.",
        better,
        ("Ferror, approximate moments", "Flog"),
    ),
)


def check_claims(tables: Iterable[Table], paper: str = "") -> Iterator[tuple[Claim, Table, Finding]]:
    """Yield the claims that recorded runs say something of, with what they say.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.claims import check_claims
    >>> from aucmax_studies.reproduce.judging.tables import tabulate
    >>> from aucmax_studies.reproduce.running.store import Record, Results
    >>> from aucmax_studies.reproduce.study_file import read_study
    >>> records = [
    ...     Record("diabetes", method, run, metrics={"auc": auc + 0.001 * run})
    ...     for method, auc in (("OPAUC", 0.83), ("OAMseq", 0.82))
    ...     for run in range(3)
    ... ]
    >>> table = tabulate(read_study("opauc-table-2"), Results(records, {}, {}, []))
    >>> [(finding.verdict, finding.text) for _, _, finding in check_claims([table])]
    [('shown', 'wins/ties/losses: 1/0/0 (printed 0/1/0) against OAMseq')]
    """
    by_name = {table.study.name: table for table in tables}
    for claim in CLAIMS:
        table = by_name.get(claim.study)
        if table is not None and table.results.records and paper in ("", table.study.paper):
            finding = claim.check(table, *claim.arguments)
            if finding.verdict:
                yield claim, table, finding

"""What each paper claims, and whether the recorded runs show it.

A claim is checked by comparisons, of two methods on a data set for example. Each is for it, against it, or open; those
with one rival are a part of the claim. The verdict counts them, by one rule for all claims:

- *shown*: in each part more than half are for it, and at most a tenth against, unless it is of "most" data sets;
- *shown in part*: otherwise, more are for it than against, over all parts;
- *the opposite*: more than half are against it;
- *not shown*: anything else;
- *not tested*: one data set of several was measured, or the paper does not give what the claim depends on, and with our
  choice it would be less than shown in part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from aucmax.datasets import GAUSSIAN_SETS

from .counts import NEAR
from .criterion import paired_change
from .tables import LOSES, WINS, Contrast, Table, contrast, count_signs

VERDICTS = "shown", "shown in part", "not shown", "the opposite", "not tested"
SHOWN, IN_PART, NOT_SHOWN, OPPOSITE, NOT_TESTED = VERDICTS
# A loss within this of its last value has converged, and so has an AUC within it of its highest value.
CONVERGED = 0.001


class Finding(NamedTuple):
    """What comparisons say of a claim."""

    parts: Sequence[tuple[int, int, int]]  # for each part, how many comparisons are for the claim, open and against it
    text: str  # the same in a sentence


class Claim(NamedTuple):
    """A claim of a paper."""

    study: str  # the table or figure that shows it; its prefix names the paper
    text: str  # the claim, as the paper states it
    check: Callable[..., Finding]  # from the study beside what was measured, and the arguments, to what it says
    arguments: tuple[Any, ...]
    most: bool = False  # whether it is of most data sets, and not of all
    unknown: str = ""  # what the paper does not give, and the claim depends on


def find_verdict(parts: Sequence[tuple[int, int, int]], *, most: bool = False, unknown: bool = False) -> str:
    """Return the verdict by the rule above; "" if nothing was compared.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.claims import find_verdict
    >>> find_verdict([(3, 0, 2)]), find_verdict([(3, 0, 2)], most=True), find_verdict([(0, 0, 2)], unknown=True)
    ('shown in part', 'shown', 'not tested')
    """
    pro, undecided, contra = (sum(counts) for counts in zip(*parts, strict=True)) if parts else (0, 0, 0)
    if not pro + undecided + contra:
        return ""
    if all(2 * part[0] > sum(part) and (most or sum(part) >= 10 * part[2]) for part in parts):
        return SHOWN
    if pro > contra:
        return IN_PART
    return NOT_TESTED if unknown else OPPOSITE if 2 * contra > pro + undecided + contra else NOT_SHOWN


# Two methods by paired t-tests, or by their times


def better(table: Table, first: str, *others: str) -> Finding:
    """Check that a method has higher values than each of the others, by data sets that it wins, ties and loses."""
    found = _contrasts(table, first, others)
    return Finding([count_signs(of) for of in found.values()], f"wins/ties/losses: {_tallies(found)}")


def better_on_gaussian(table: Table, first: str, other: str) -> Finding:
    """Check that a method has higher values than another one; the text counts the data sets with outliers, too."""
    found, subjects = better(table, first, other), table.study.subjects
    noisy = [c for c in contrast(table, first, other) if GAUSSIAN_SETS[subjects[c.data].options["name"]].outliers]
    return found._replace(text=f"{found.text}; on those with outliers {_slashes(count_signs(noisy))}")


def better_by_scaling(table: Table, first: str, other: str) -> Finding:
    """Check that a method has higher values than another one, for each scaling that both were measured with."""
    scalings = {"to [-1, 1]": "", "standardised": ", standardised", "none": ", as distributed"}
    found = {name: contrast(table, first + label, other + label) for name, label in scalings.items()}
    texts = [f"{name} {_slashes(count_signs(of))}" for name, of in found.items() if of]
    return Finding([count_signs(of) for of in found.values() if of], f"wins/ties/losses by scaling: {', '.join(texts)}")


def as_good(table: Table, first: str, *others: str) -> Finding:
    """Check that a method has values as high as each of the others, or lower by no more than `NEAR`."""
    found = _contrasts(table, first, others)
    every = [each for of in found.values() for each in of]
    known = [each.published for each in every if each.published is not None]
    lower = [sum(each.measured < -NEAR for each in of) for of in found.values()]
    differences = [each.measured for each in every] or [0.0]
    published = f" (published: {sum(each < -NEAR for each in known)} of {len(known)})" if known else ""
    return Finding(
        [(len(of) - count, 0, count) for of, count in zip(found.values(), lower, strict=True)],
        f"lower by more than {NEAR:g}: {sum(lower)} of {len(every)}{published}, median difference "
        f"{_signed(float(np.median(differences)))}, lowest {_signed(min(differences))}; wins/ties/losses: "
        f"{_tallies(found)}",
    )


def _contrasts(table: Table, first: str, others: Sequence[str], x: float | None = None) -> dict[str, list[Contrast]]:
    found = {other: contrast(table, first, other, x=x) for other in others}
    return {other: of for other, of in found.items() if of}


def _tallies(found: Mapping[str, Sequence[Contrast]]) -> str:
    """Return wins, ties and losses with the rivals that they are of, and beside them what was published."""
    by_counts: dict[str, list[str]] = {}
    for other, of in found.items():
        known = [each for each in of if each.published is not None]
        marks = [each.mark for each in known]
        published = ""
        if {WINS, LOSES} & set(marks):
            published = f" (published: {_slashes((marks.count(WINS), marks.count(''), marks.count(LOSES)))})"
        elif known:
            published = f" (published: higher on {sum((each.published or 0) > 0 for each in known)} of {len(known)})"
        by_counts.setdefault(f"{_slashes(count_signs(of))}{published}", []).append(other)
    return "; ".join(f"{counts} against {', '.join(others)}" for counts, others in by_counts.items())


def _slashes(counts: tuple[int, int, int]) -> str:
    return "/".join(map(str, counts))


def _signed(value: float) -> str:
    text = f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")
    return text if text.strip("+0.\N{MINUS SIGN}") else "0.0000"


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
        published = [a.published.mean / b.published.mean for a, b in pairs if a.published and b.published]
        if own:
            count = sum(ratio > 1 for ratio in own)
            parts.append((count, 0, len(own) - count))
            known = f" (published: {_span(published)})" if published else ""
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


def sooner(table: Table, first: str, *others: str) -> Finding:
    """Check that a method has the higher AUC at the last point; the text says from where on its mean is higher."""
    curve, parts, texts = table.study.curve, [], []
    last = curve.values[-1] if curve else 0
    for other in others:
        signs, ahead = [], []
        for data in table.study.subjects:
            own, rival = (_means(table, data, method, "auc") for method in (first, other))
            sign = _paired(table, data, first, other, last, last)
            if sign is not None:
                signs.append(sign)
                points = own.keys() & rival.keys()
                behind = max((x for x in points if own[x] <= rival[x]), default=-np.inf)
                since = min((x for x in points if x > behind), default=None)
                ahead.append(f"{data} never" if since is None else f"{data} from {since:g} on")
        if signs:
            parts.append((signs.count(1), signs.count(0), signs.count(-1)))
            texts.append(f"{other}: {', '.join(ahead)}; at the end significantly on {signs.count(1)} of {len(signs)}")
    label = (curve.label or curve.parameter) if curve else ""
    return Finding(parts, f"mean AUC of {first} higher, by {label}, than that of {'. '.join(texts)}")


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
    return _near_highest(table, method, lambda curve: curve[min(curve)], "that after one epoch", CONVERGED)


def flat(table: Table, method: str) -> Finding:
    """Check that the lowest AUC along a curve is within `NEAR` of the highest."""
    return _near_highest(table, method, lambda curve: min(curve.values()), "the lowest", NEAR)


def _near_highest(
    table: Table, method: str, other: Callable[[dict[float, float]], float], name: str, margin: float
) -> Finding:
    curves = {data: _means(table, data, method, "auc") for data in table.study.subjects}
    missing = {data: max(curve.values()) - other(curve) for data, curve in curves.items() if curve}
    signs = [1 if value <= margin else -1 for value in missing.values()]
    texts = ", ".join(f"{data} {value:.4f}" for data, value in missing.items())
    return _finding(
        signs,
        f"highest AUC along the curve less {name}: {texts}; at most {margin:g} on {signs.count(1)} of {len(signs)}",
    )


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
        f"epochs after which the training loss was still more than {CONVERGED:g} from its final value, {rare} against "
        f"{even}: {', '.join(texts)}. The test AUC does not show it: from the first epoch to the last it changes by "
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


def alike(table: Table, first: str, *others: str) -> Finding:
    """Check that the AUCs of methods are within `NEAR` of that of the first at each point; the text has F1, too."""
    parts, texts, (data,) = [], [], table.study.subjects
    own = _means(table, data, first, "auc")
    for other in others:
        rival = _means(table, data, other, "auc")
        count = sum(abs(own[x] - rival[x]) <= NEAR for x in own.keys() & rival.keys())
        if rival:
            parts.append((count, 0, len(rival) - count))
            texts.append(f"{other} at {count} of {len(rival)}")
    highest = (f"{m} {max(f1.values()):.3f}" for m in (first, *others) if (f1 := _means(table, data, m, "f1")))
    return Finding(
        parts,
        f"points with an AUC within {NEAR:g} of that of {first}: {', '.join(texts)}. "
        f"Highest F1 score of the curve: {', '.join(highest)}",
    )


def better_at(table: Table, x: float, first: str, *others: str) -> Finding:
    """Check that a method has a higher AUC than others at a point of a curve."""
    found = _contrasts(table, first, others, x)
    label = table.study.curve.parameter if table.study.curve else ""
    texts = [
        f"{_slashes(count_signs(of))} against {other}, median difference "
        f"{_signed(float(np.median([d.measured for d in of])))}"
        for other, of in found.items()
    ]
    text = f"wins/ties/losses of {first} at {label} = {x:g}: {'; '.join(texts)}"
    return Finding([count_signs(of) for of in found.values()], text)


ONLINE = ("OAMseq", "OAMgra", "online Uni-Exp", "online Uni-Squ")
BATCH = ("SVM-perf", "batch SVM-OR", "batch LS-SVM", "batch Uni-Log", "batch Uni-Squ")
SPARSE_RIVALS = ("SPAM-l1", "SPAM-l2", "FSAUC", "SOLAM", "StoIHT", "HSG-HT")
NO_MOMENTS = "The paper does not give the moments of its data; these are ours"
CLAIMS = (
    Claim("spdam-figure-1", "SPDAM converges linearly.", linear, ("SPDAM", "regSOLAM")),
    Claim("spdam-figure-1", "SPDAM converges faster than regSOLAM.", sooner, ("SPDAM", "regSOLAM")),
    Claim("spdam-figure-2", "Larger batches converge faster.", larger_batches, ("SPDAM 20%", "SPDAM 1%")),
    Claim(
        "spdam-figure-2",
        "If the batches are too small, SPDAM ranks very poorly.",
        better_at,
        (100, "SPDAM 20%", "SPDAM 10%", "SPDAM 5%", "SPDAM 1%"),
        unknown="The paper does not say which sizes are too small; 1% is the smallest here",
    ),
    Claim(
        "spdam-table-3",
        "SPDAM ranks about as well as other online and batch methods.",
        as_good,
        ("SPDAM", "regSOLAM", "OPAUC", "B-SVM-OR", "B-LS-SVM"),
    ),
    Claim(
        "spdam-table-3",
        "regSOLAM ranks about as well as other online and batch methods.",
        as_good,
        ("regSOLAM", "OPAUC", "B-SVM-OR", "B-LS-SVM"),
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
    Claim("psam-table-2", "PSAM ranks about as well as the batch method BAM.", as_good, ("PSAM", "BAM")),
    Claim("psam-table-2", "PSAM trains faster than BAM.", faster, ("PSAM", "BAM")),
    Claim("psam-table-2", "CBR-FIFO is slower on most data sets.", faster, ("PSAM", "CBR-FIFO"), most=True),
    Claim(
        "psam-table-3",
        "On kernel features NPSAM ranks better than NSOLAM and NASAM.",
        better,
        ("NPSAM", "NSOLAM", "NASAM"),
    ),
    Claim("psam-table-3", "NPSAM ranks about as well as the batch method NBAM.", as_good, ("NPSAM", "NBAM")),
    Claim("psam-table-3", "NPSAM trains much faster than NBAM.", faster, ("NPSAM", "NBAM")),
    Claim("psam-figure-1", "PSAM is at its optimum after one epoch on most data sets.", at_once, ("PSAM",), most=True),
    Claim(
        "opauc-table-2",
        "In one pass OPAUC ranks better than other online algorithms, and never worse.",
        better,
        ("OPAUC", *ONLINE),
    ),
    Claim(
        "opauc-table-3",
        "With batch algorithms, the square loss of pairs is as good for AUC as other losses.",
        as_good,
        ("batch LS-SVM", *(other for other in BATCH if other != "batch LS-SVM")),
    ),
    Claim("opauc-table-3", "OPAUC is highly competitive with batch algorithms.", as_good, ("OPAUC", *BATCH)),
    Claim(
        "opauc-figure-1",
        "On most data sets OPAUC takes no longer than OAM.",
        faster,
        ("OPAUC", "OAMseq", "OAMgra"),
        most=True,
    ),
    Claim("opauc-figure-5", "OPAUCr is not sensitive to the rank of its sketches.", flat, ("OPAUCr",)),
    Claim("opauc-figure-6", "OPAUC converges faster than OAM, row by row.", sooner, ("OPAUC", "OAMseq", "OAMgra")),
    Claim(
        "opauc-table-5",
        "With 50,000 columns or more OPAUCr ranks better than online algorithms and other ways to fewer columns.",
        better,
        ("OPAUCr", *ONLINE, "OPAUCf", "OPAUCrp", "OPAUCpca"),
    ),
    Claim("sht-table-1", "SHT-AUC has the best AUC on sparse data.", better, ("SHT-AUC", *SPARSE_RIVALS)),
    Claim(
        "sht-table-2",
        "With a twentieth of the rows positive, SHT-AUC finds the true features significantly better than all others.",
        better,
        ("SHT-AUC", *SPARSE_RIVALS),
    ),
    Claim("sht-table-3", "SHT-AUC has the highest AUC on gene expressions.", better, ("SHT-AUC", *SPARSE_RIVALS)),
    Claim("sht-figure-1", "The rarer the positives, the slower SHT-AUC converges.", slower, ("r = 0.05", "r = 0.5")),
    Claim(
        "sht-figure-2",
        'For all shares of positives, SHT-AUC, SPAM with an L1 part and FSAUC rank alike ("at the same tier").',
        alike,
        ("SHT-AUC", "SPAM-l1", "SPAM-l1/l2", "FSAUC"),
    ),
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
        "On Gaussian data the Gaussian AUC ranks better than the hinge loss.",
        better_on_gaussian,
        ("FAUC, approximate moments", "Fhinge"),
        unknown=NO_MOMENTS,
    ),
    Claim(
        "gaussian-table-5",
        "On Gaussian data the Gaussian AUC takes less time than the hinge loss.",
        faster,
        ("FAUC, approximate moments", "Fhinge"),
        unknown=NO_MOMENTS,
    ),
    Claim(
        "gaussian-table-4",
        "On real data the least Gaussian error is as accurate as logistic regression, on all but two data sets.",
        as_good,
        ("Ferror", "Flog"),
    ),
    Claim(
        "gaussian-table-2",
        "On Gaussian data the least Gaussian error is more accurate than logistic regression.",
        better_on_gaussian,
        ("Ferror, approximate moments", "Flog"),
        unknown=NO_MOMENTS,
    ),
    Claim(
        "gaussian-table-11",
        "On Gaussian data the least Gaussian error is more accurate than LDA.",
        better_on_gaussian,
        ("Ferror, approximate moments", "LDA"),
        unknown=NO_MOMENTS,
    ),
    Claim(
        "gaussian-table-12",
        "On real data the least Gaussian error is more accurate than LDA.",
        better,
        ("Ferror", "LDA"),
    ),
    Claim("gaussian-table-12", "On real data logistic regression is more accurate than LDA.", better, ("Flog", "LDA")),
)


# What is claimed besides, and why it is not judged.
UNJUDGED = {
    "PSAM": "PSAM takes as long as ASAM (how near is not said); more epochs help on some data sets (Figure 1: the text "
    "does not say which); NPSAM is at its optimum after one epoch (not measured).",
    "OPAUC": "good steps and penalties (Figures 3 and 4: the text has no number for good or large); times on "
    "data of many columns (Figure 2: one data set of six is at hand).",
    "SHT": "the number of weights with the highest AUC (Figure 3: the text has no numbers); the share of known genes "
    "(Figure 4: the columns at hand have no names).",
    "Gaussian": "exact moments (Tables 2 and 5: our data were made to match them); times of the least Gaussian error "
    "(Tables 2 and 4: our logistic regression has another solver); few iterations, and descents that stall (Figures 1 "
    "and 2: the text has no numbers of them).",
}


def check_claims(tables: Iterable[Table], paper: str = "") -> Iterator[tuple[Claim, Table, str, str]]:
    """Yield the claims that recorded runs say something of, with the study, the verdict and what it is from.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.claims import check_claims
    >>> from aucmax_studies.reproduce.judging.tables import tabulate
    >>> from aucmax_studies.reproduce.running.store import Record, Results
    >>> from aucmax_studies.reproduce.study_file import read_study
    >>> records = [
    ...     Record(data, method, run, metrics={"auc": auc + 0.001 * run})
    ...     for data in ("diabetes", "german")
    ...     for method, auc in (("OPAUC", 0.83), ("OAMseq", 0.82))
    ...     for run in range(3)
    ... ]
    >>> table = tabulate(read_study("opauc-table-2"), Results(records, {}, {}, []))
    >>> [(verdict, text) for _, _, verdict, text in check_claims([table])]
    [('shown', 'wins/ties/losses: 2/0/0 (published: 1/1/0) against OAMseq')]
    """
    by_name = {table.study.name: table for table in tables}
    for claim in CLAIMS:
        table = by_name.get(claim.study)
        if table is None or not table.results.records or paper not in ("", table.study.paper):
            continue
        parts, text = claim.check(table, *claim.arguments)
        verdict = find_verdict(parts, most=claim.most, unknown=bool(claim.unknown))
        subjects = len(table.study.subjects)
        if verdict and max(map(sum, parts)) == 1 < subjects:
            verdict, text = NOT_TESTED, f"{text}. One data set of {subjects} is at hand"
        if verdict:
            yield claim, table, verdict, f"{text}. {claim.unknown}" if claim.unknown else text

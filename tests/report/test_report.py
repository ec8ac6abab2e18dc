import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from html import escape
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.special import expit, logit

from aucmax.compare.comparison import Comparison
from aucmax.report import figures
from aucmax.report import html as module
from aucmax.report.displays.base import count_text, number_text, shorten
from aucmax.report.displays.path import N_TICKS
from aucmax.report.evaluation import evaluate
from aucmax.report.figures import COLOURS
from aucmax.report.html import NONE, Report, render_page, write_page
from aucmax.search.path_cv import PathCV
from aucmax.solvers.candidate import Candidate

ATTACK = "<script>alert(1)</script>"
HOSTILE = (
    ATTACK,
    '"><img src=x onerror=alert(1)>',
    "price in $ of $x^2_{$",
    r"\frac{1}{$0$}",
    "{{ 7 * 7 }}{% raw %}",
    "特徴量 \N{RIGHT-TO-LEFT OVERRIDE} \N{PILE OF POO} " * 30,
    "two\nlines\x00\x1b",
)


def make_comparison(methods=("OPAUC", "SOLAM", "broken"), n_splits=10, data="mice & men"):
    rng = np.random.default_rng(0)
    auc = 0.9 + 0.02 * rng.normal(size=(len(methods), n_splits))
    auc[-1, 3:] = np.nan
    others = len(methods) - 3
    return Comparison(
        data=data,
        methods=list(methods),
        auc=auc,
        seconds=np.full(auc.shape, 0.0123),
        tuning_seconds=np.full((len(methods), n_splits), 0.5),
        parameters=[[{}] * n_splits] * len(methods),
        pvalues=[None, 1e-9, *[0.0512] * others, None],
        corrected_pvalues=[None, 0.0123, *[0.4] * others, None],
        failures={"broken": "it has <no> reason" + ", and says so at length" * 9},
        verdicts=["", "win", *["tie"] * others, ""],
    )


def make_path(alphas=(10.0, 1.0, 0.1), n_nonzero=None, loss=None):
    auc = 0.8 + 0.05 * np.random.default_rng(1).random((5, len(alphas)))
    columns = [alphas, *([None] * len(alphas) if values is None else values for values in (n_nonzero, loss))]
    return PathCV([Candidate(*values) for values in zip(*columns, strict=True)], auc)


def make_candidates():
    """Return candidates of three losses with two scalings, and a blend of three of them."""
    kinds = [("squared", True), ("pooled", True), ("squared", False), ("pooled", False)]
    candidates = [Candidate(alpha, None, *kind) for kind in kinds for alpha in (100.0, 1.0, 0.01)]
    candidates.append(Candidate(0.1, None, "smooth_auc", True))
    path = PathCV(candidates, 0.8 + 0.05 * np.random.default_rng(1).random((5, len(candidates))))
    chosen = [12, 1, 10]
    fields = {
        name: np.array([getattr(candidates[k], name) for k in chosen]) for name in ("loss", "standardize", "alpha")
    }
    return path, fields | {"share": np.array([0.5, 0.3, 0.2]), "auc": path.auc.mean(axis=0)[chosen]}


def make_report(names=("first", "second"), blended=False):
    rng = np.random.default_rng(2)
    positive = rng.random(500) < 0.3
    scores = rng.normal(size=500) + 1.5 * positive - 0.5
    path, blend = make_candidates() if blended else (make_path(), None)
    return Report(
        title=f"Title {names[0]}",
        summary=[(f"data {names[-1]}", names[0])],
        evaluation=evaluate(positive, scores, probabilities=expit(scores), costs=(1, 5)),
        scores=(scores[~positive], scores[positive]),
        class_names=(names[0], names[-1]),
        path=path.results(),
        blend=blend,
        blend_auc=0.9 if blended else None,
        weights=[(name, (-0.5) ** k) for k, name in enumerate(names)],
        weights_note="Of standardised columns.",
        convergence=np.geomspace(1, 1e-3, 20),
        comparison=[make_comparison(data=names[0]), make_comparison((*names, "x", "y", "z"))],
    )


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts = Counter(), [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes += attributes

    def handle_data(self, data):
        self.texts.append(data.strip())

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module", params=[False, True], ids=["path", "blend"])
def report(request):
    return make_report(blended=request.param)


@pytest.fixture(scope="module")
def page(report):
    return render_page(report)


@pytest.fixture
def axes(monkeypatch):
    """The axes that were painted, by the name of their figure."""
    painted = {}

    def paint_only(name, description, paint, height=figures.HEIGHT):
        paint(painted.setdefault(name, Figure().subplots()))
        return ""

    monkeypatch.setattr(figures, "draw_svg", paint_only)
    return painted


def lines(axes, role):
    return [np.transpose(line.get_data()) for line in axes.lines if to_hex(line.get_color()) == COLOURS[role]]


# The page


def test_report_page_shows_the_numbers_of_the_evaluation(report, page):
    found, text = report.evaluation, Page(page).text

    def ends(each, note=""):
        return f"{each.low:.4f} to {each.high:.4f}{note} {each.value:.4f}"

    assert f"{found.auc.auc:.4f} area under the ROC curve" in text
    assert f"95% confidence: {found.auc.low:.4f} to {found.auc.high:.4f}" in text
    assert f"up to 0.1 {found.partial_auc:.4f}" in text
    assert f"average precision, {found.base_rate:.4f} by chance, {ends(found.average_precision)}" in text
    assert f"best balanced accuracy {found.best.balanced_accuracy.value:.4f}" in text
    gini, calibration = found.gini, found.calibration
    assert f"Gini, {ends(gini)}" in text
    assert f"KS, at a score of {number_text(found.ks_threshold)}, {ends(found.ks, ' for this fixed cut')}" in text
    assert f"with the base rate for all, {ends(calibration.brier)}" in text
    for rule, at in found.thresholds.items():
        rates = (
            NONE if np.isnan(r.value) else f"{r.value:.1%} {100 * r.low:.1f} to {100 * r.high:.1f}"
            for r in (at.precision, at.recall, at.fpr)
        )
        called = f"{number_text(at.threshold)} {at.probability:.1%} {at.called} {at.called / 500:.1%}"
        counts = f"{at.tp} / {at.fp} {at.tn} / {at.fn} {at.fp + 5 * at.fn}"
        assert f"{rule} {called} {' '.join(rates)} {counts}" in text
    for k, tenth in enumerate(found.gains):
        counts = f"{k + 1} 50 {count_text(tenth.positives)} {tenth.rate:.1%} {tenth.lift:.2f}"
        assert f"{counts} {tenth.gain:.1%} {tenth.total_lift:.2f}" in text
    slope, line = calibration.slope, calibration.intercept
    assert (
        f"slope, {slope.low:.3f} to {slope.high:.3f}; right is 1, below it they are too extreme {slope.value:.3f}"
        in text
    )
    assert f"{number_text(line.low, '.3f')} to {number_text(line.high, '.3f')}; right is 0" in text
    for each in calibration.bins:
        interval = f"{each.rate.low:.1%} to {each.rate.high:.1%}"
        assert f"{each.rows:g} {each.mean:.1%} {each.rate.value:.1%} {interval}" in text
    assert "data second first" in text
    assert "A positive weight makes second more likely, a negative one first. Of standardised columns." in text
    assert "first +1.00 second \N{MINUS SIGN}0.500" in text
    assert "10 splits" in text


def test_the_auc_of_training_rows_is_called_so():
    found = evaluate([False, False, True, True], [1, 3, 2, 4])
    alone = Page(render_page(Report("", evaluation=found, of_training_rows=True))).text
    assert "0.7500 area under the ROC curve on the training rows, not on new ones" in alone
    assert "confidence:" not in alone
    held_out = Report("", evaluation=found, of_training_rows=True, held_out_auc=0.6, held_out_interval=(0.5, 0.7))
    text = Page(render_page(held_out)).text
    assert "0.6000 area under the ROC curve, cross-validated, 95% confidence: 0.5000 to 0.7000" in text
    assert "AUC of the training rows 0.7500" in text
    other = Page(render_page(held_out._replace(of_training_rows=False))).text
    assert "0.7500 area under the ROC curve 95% confidence: " in other
    assert "cross-validated AUC of the fit, 0.5000 to 0.7000 0.6000" in other


def test_probabilities_that_have_no_logistic_fit_are_said(axes):
    found = evaluate([False, False, True, True], [1, 3, 2, 4], probabilities=[0.5] * 4)
    text = Page(render_page(Report("", evaluation=found))).text
    assert "There is no logistic fit: the probabilities are all equal, or separate the classes." in text
    assert not lines(axes["calibration"], "other")


def test_a_report_without_probabilities_or_threshold_has_no_trace_of_them():
    page = render_page(Report("", evaluation=evaluate([False, False, True, True], [1, 3, 2, 4], threshold=None)))
    assert "Are the probabilities right?" not in page
    assert "Brier" not in page
    assert "threshold of the model" not in page
    assert "cost</th>" not in page


HEADINGS = {
    "evaluation": ["What it would do", "Gains and lift", "Are the probabilities right?", "How it ranks"],
    "scores": ["How it ranks"],
    "path": ["How it was made"],
    "blend": ["How it was made"],
    "weights": ["Largest weights"],
    "convergence": ["How it was made"],
    "comparison": ["Comparison on first", "Comparison on mice & men"],
    "summary": ["How it was made"],
}


@pytest.mark.parametrize("part", HEADINGS)
def test_report_page_has_headings_of_its_parts_only(part):
    alone = render_page(Report("Alone", **{part: getattr(make_report(blended=part == "blend"), part)}))
    assert [escape(h) for h in HEADINGS[part]] == re.findall("<h2>(.*?)</h2>", alone)
    assert alone.count('class="headline"') == (part == "evaluation")


def test_a_report_of_nothing_is_a_heading():
    found = Page(render_page(Report("Nothing")))
    assert not {"svg", "section", "table", "dl"} & set(found.tags)
    assert found.tags["h1"] == 1


def test_hostile_names_are_harmless_text(recwarn):
    found = Page(render_page(make_report(HOSTILE, blended=True)))
    assert not {"script", "img", "b"} & set(found.tags)
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert found.texts.count(ATTACK) >= 5
    assert f"Title {ATTACK}" in found.texts
    assert ("title", HOSTILE[5]) in found.attributes
    for name in HOSTILE[2:5]:
        assert found.texts.count(shorten(name)) >= 3, "feature, method, and label of the box plot"
    assert not recwarn.list


def test_report_page_loads_nothing_from_outside(page):
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|//|@import|\bsrc=|url\((?!#)", page)
    assert not {"script", "link", "img", "iframe"} & set(Page(page).tags)


def test_report_page_is_accessible(report, page):
    found, n_figures = Page(page), 10 if report.blend is None else 11
    assert ("lang", "en") in found.attributes
    assert found.tags["svg"] == found.attributes.count(("role", "img")) == found.tags["title"] - 1 == n_figures
    assert found.tags["table"] == found.tags["caption"] == 6
    assert page.count("<th ") == len(re.findall('<th scope="(?:row|col)"', page))


def test_report_page_ids_are_unique_and_found(page):
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids)) > 100
    used = re.findall(r'(?:href="#|url\(#)([^")]*)', page)
    assert used
    assert set(used) <= set(ids)


def test_colours_are_those_of_the_page(page):
    figures = "".join(re.findall("<svg.*?</svg>", page, flags=re.DOTALL))
    assert not re.search("#[0-9a-f]{6}", figures)
    assert set(re.findall(r"var\(--(\w+)\)", figures)) == set(COLOURS)
    assert "font-family" not in figures


def test_report_page_ignores_the_matplotlib_style(report, page):
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 30, "text.usetex": True}):
        before = dict(matplotlib.rcParams)
        assert render_page(report) == page
        assert dict(matplotlib.rcParams) == before


def test_report_page_is_small(page):
    assert len(page) < 300_000


# What the figures show


def test_roc_curve(report, axes):
    render_page(report)
    (curve,) = lines(axes["roc"], "accent")
    np.testing.assert_array_equal(curve, np.transpose(report.evaluation.roc[:2]))
    (point,) = lines(axes["roc"], "ink")
    best = report.evaluation.best
    np.testing.assert_allclose(point, [[best.fpr.value, best.recall.value]])
    (band,) = axes["roc"].collections
    outline = band.get_paths()[0].vertices
    roc = report.evaluation.roc
    for limit in (roc.low, roc.high):
        assert set(zip(roc.fpr, limit, strict=True)) <= set(map(tuple, outline))


def test_precision_recall_gains_and_calibration(report, axes):
    render_page(report)
    found = report.evaluation
    np.testing.assert_array_equal(lines(axes["precision"], "accent")[0][1:], np.transpose(found.precision_recall))
    assert [bar.get_height() for bar in axes["gains"].patches] == [each.rate for each in found.gains]
    points = np.array([(each.mean, each.rate.value) for each in found.calibration.bins])
    np.testing.assert_allclose(lines(axes["calibration"], "accent")[0], points)
    (bars,) = axes["calibration"].collections
    ends = [segment[:, 1] for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [each.rate[1:] for each in found.calibration.bins])
    (fit,) = lines(axes["calibration"], "other")
    slope = np.diff(logit(fit[[100, 300], 1])) / np.diff(logit(fit[[100, 300], 0]))
    assert slope == pytest.approx(found.calibration.slope.value)


def test_report_scores_are_densities_on_the_same_bins(report, axes):
    render_page(report)
    (_, negative), (_, positive) = (axes["scores"].patches[k : k + 2] for k in (0, 2))
    for patch, scores in zip((negative, positive), report.scores, strict=True):
        density, edges, _ = patch.get_data()
        np.testing.assert_array_equal(edges, negative.get_data().edges)
        np.testing.assert_allclose(density, np.histogram(scores, edges, density=True)[0])
        assert edges[0] <= scores.min()
        assert scores.max() <= edges[-1]
    assert [line[0, 0] for line in lines(axes["scores"], "ink")] == [report.evaluation.best.threshold]
    assert [line[0, 0] for line in lines(axes["scores"], "muted")] == [0]


def test_scores_far_out_are_left_out_and_counted(axes):
    scores = np.append(np.random.default_rng(0).normal(size=9_999), 1e6)
    text = Page(render_page(Report("", scores=(scores, scores)))).text
    assert axes["scores"].patches[1].get_data().edges[-1] < 10
    assert f"{2 * (9 + 9):,} scores outside the range are not shown." in text


def test_a_threshold_far_off_is_not_drawn(axes):
    scores = np.linspace(1000, 1001, 50)
    assert "threshold of the model" not in render_page(Report("", scores=(scores, scores + 0.5)))
    assert axes["scores"].get_xlim()[0] > 999


@pytest.mark.parametrize("scores", [np.zeros(3), np.ones(1), np.array([1e-300, 2e-300])])
def test_scores_of_no_width(scores):
    assert "outside the range" not in render_page(Report("", scores=(scores, scores)))


def test_path_with_its_choice_and_standard_error(axes):
    path = make_path()
    text = Page(render_page(Report("", path=path.results()))).text
    mean, error = path.auc.mean(axis=0), path.auc.std(axis=0, ddof=1) / np.sqrt(5)
    (line,) = lines(axes["path"], "accent")
    np.testing.assert_allclose(line, np.column_stack([path.alphas, mean])[::-1])
    assert axes["path"].get_xscale() == "log"
    (point,) = lines(axes["path"], "ink")
    np.testing.assert_allclose(point, [[path.best.alpha, mean.max()]])
    outline = axes["path"].collections[0].get_paths()[0].vertices[:, 1]
    assert outline.min() == pytest.approx(min(mean - error))
    assert outline.max() == pytest.approx(max(mean + error))
    assert f"alpha = {path.best.alpha:.4g} is chosen, AUC {mean.max():.4f}" in text


def test_path_of_several_lines_marks_the_candidate_that_is_named(axes):
    numbers, alphas = np.repeat([3, 5, 8], 2), np.tile([1.0, 0.0], 3)
    path = make_path(alphas, n_nonzero=numbers)
    text = Page(render_page(Report("", path=path.results(), best_index=3))).text
    assert axes["path"].get_xscale() == "symlog"
    (chosen,) = lines(axes["path"], "accent")
    np.testing.assert_allclose(chosen, np.column_stack([alphas, path.auc.mean(axis=0)])[[3, 2]])
    assert len(lines(axes["path"], "other")) == 2
    assert "alpha = 0 is chosen" in text
    for n in (3, 5, 8):
        assert f"{n} nonzero weights" in text


def test_shares_of_a_blend(axes):
    _, blend = make_candidates()
    text = Page(render_page(Report("", blend=blend))).text
    bars = axes["blend"].patches
    assert [bar.get_width() for bar in bars] == [0.5, 0.3, 0.2]
    assert [to_hex(bar.get_facecolor()) for bar in bars] == [COLOURS[role] for role in ("accent", "accent", "other")]
    assert [label.get_text() for label in axes["blend"].get_yticklabels()] == [
        "smooth_auc\nalpha 0.1, standardised",
        "squared\nalpha 1, standardised",
        "pooled\nalpha 1, unscaled",
    ]
    shares = zip(("50%", "30%", "20%"), blend["auc"], strict=True)
    assert [told.get_text() for told in axes["blend"].texts] == [f"{share}, AUC {auc:.4f}" for share, auc in shares]
    assert "standardised columns unscaled columns" in text


def test_candidates_of_a_blend(axes):
    path, blend = make_candidates()
    text = Page(render_page(Report("", path=path.results(), blend=blend, blend_auc=0.875))).text
    points = np.column_stack([path.alphas, path.auc.mean(axis=0)])
    drawn = axes["candidates"]
    for role, starts in (("accent", [0, 3, 12]), ("other", [6, 9])):
        expected = [points[start : start + 3][::-1] for start in starts]
        for line, known in zip(lines(drawn, role), expected, strict=True):
            np.testing.assert_allclose(line, known)
    members, level = lines(drawn, "ink")
    np.testing.assert_allclose(members, points[[12, 1, 10]])
    np.testing.assert_allclose(level[:, 1], 0.875)
    assert "the blend, AUC 0.8750 its members squared, standardised pooled, standardised squared, unscaled" in text
    assert "AUC of the candidates" in text
    assert "AUC along alpha" not in text


def test_lines_of_candidates_differ_in_mark_or_colour():
    path, blend = make_candidates()
    *_, drawing = module._making(Report("", path=path.results(), blend=blend, blend_auc=0.9))
    looks = [(key.mark, key.colour) for key in drawing.keys]
    assert len(set(looks)) == len(looks) == 2 + 5


def test_poor_candidates_are_left_out_and_counted(axes):
    path, blend = make_candidates()
    mean = np.full(13, 0.90)
    mean[[1, 10, 12]] = 0.94, 0.93, 0.95  # the members
    mean[[2, 5, 8]] = 0.7
    path, blend = path._replace(auc=np.tile(mean, (5, 1))), blend | {"auc": mean[[12, 1, 10]]}
    text = Page(render_page(Report("", path=path.results(), blend=blend, blend_auc=0.955))).text
    low, high = axes["candidates"].get_ylim()
    assert low == pytest.approx(0.90 - (0.955 - 0.90))
    assert 0.955 < high < 0.97
    assert "Candidates of a lower AUC are not shown: 3 of 13." in text


def test_equal_candidates_are_all_shown(axes):
    path, blend = make_candidates()
    path, blend = path._replace(auc=np.full((5, 13), 0.9)), blend | {"auc": np.full(3, 0.9)}
    text = Page(render_page(Report("", path=path.results(), blend=blend, blend_auc=0.9))).text
    assert axes["candidates"].get_ylim()[0] < 0.9
    assert "not shown" not in text


def test_decades_of_alpha_have_room_for_their_labels(axes):
    path = make_path(10.0 ** np.arange(3, -8, -1))
    render_page(Report("", path=path.results()))
    low, high = axes["path"].get_xlim()
    assert 3 <= sum(low <= tick <= high for tick in axes["path"].get_xticks()) <= N_TICKS


def test_one_candidate_is_no_blend(axes):
    path, blend = make_candidates()
    one = {name: values[:1] for name, values in blend.items()} | {"share": np.ones(1)}
    text = Page(render_page(Report("", path=path.results(), blend=one, blend_auc=one["auc"][0]))).text
    (chosen,) = lines(axes["candidates"], "ink")
    np.testing.assert_allclose(chosen, [[0.1, one["auc"][0]]])
    assert f"smooth_auc is chosen, AUC {one['auc'][0]:.4f}" in text
    assert "blend" not in axes
    assert "Shares of the blend" not in text


def test_path_of_losses_and_along_the_number_of_weights(axes):
    text = Page(render_page(Report("", path=make_path((1.0, 1.0), loss=np.array(["squared", "hinge"])).results()))).text
    assert "AUC along alpha" in text
    assert "squared" in text
    assert "hinge" in text
    assert "AUC along n_nonzero" in render_page(
        Report("", path=make_path((1.0, 1.0), n_nonzero=np.array([2, 4])).results())
    )


@pytest.mark.parametrize("alphas", [(0.0,), (1.0,), (1.0, 0.0), (3.0, 2.0), tuple(np.geomspace(1e9, 1e-9, 40))])
def test_paths_of_all_kinds_are_drawn(alphas):
    path = make_path(alphas)
    one_split = path._replace(auc=path.auc[:1])
    for results in (path.results(), one_split.results()):
        assert "<svg" in render_page(Report("", path=results))


def test_convergence_leaves_out_what_has_no_logarithm(axes):
    render_page(Report("", convergence=np.array([1.0, 0.1, 0.0])))
    (line,) = lines(axes["convergence"], "accent")
    np.testing.assert_array_equal(line, [[1, 1.0], [2, 0.1]])
    assert axes["convergence"].get_yscale() == "log"
    assert "<figure>" not in render_page(Report("", convergence=np.zeros(3)))
    assert "<figure>" not in render_page(Report("", convergence=np.empty(0)))


def test_weights_are_drawn_by_their_display_and_listed(axes):
    found = Page(render_page(Report("", weights=[("a", 3.0), ("b", -1.0)], class_names=("ham", "spam"))))
    bars = axes["weights"].patches
    assert [bar.get_width() for bar in bars] == [3.0, -1.0]
    assert [to_hex(bar.get_facecolor()) for bar in bars] == [COLOURS[role] for role in ("accent", "other")]
    assert [text.get_text() for text in axes["weights"].get_yticklabels()] == ["a", "b"]
    assert "makes spam more likely makes ham more likely" in found.text
    assert "a +3.00 b \N{MINUS SIGN}1.00" in found.text


def test_comparison_as_a_table_and_box_plots(axes):
    comparison = make_comparison()
    text = Page(render_page(Report("", comparison=comparison))).text
    mean, deviation = comparison.auc.mean(axis=1), comparison.auc.std(axis=1)
    assert f"SOLAM {mean[1]:.4f} ± {deviation[1]:.4f} 0.0123 0.512 < 0.001 0.012 worse" in text
    assert re.search(rf"OPAUC {mean[0]:.4f} ± {deviation[0]:.4f} \S+ \S+ {NONE} {NONE} {NONE}", text)
    assert f"broken {NONE} 0" in text, "no mean and no deviation"
    assert "better or worse than OPAUC by Nadeau and Bengio" in text
    assert "broken: it has <no> reason" in text
    medians = [np.median(values[np.isfinite(values)]) for values in comparison.auc]
    drawn = [line.get_xdata()[0] for line in axes["boxes0"].lines if line.get_linewidth() == 2]
    np.testing.assert_allclose(drawn, medians)
    assert [label.get_text() for label in axes["boxes0"].get_yticklabels()] == comparison.methods


def test_comparison_of_one_split_in_which_a_method_failed():
    one = make_comparison(n_splits=4)
    last = {name: getattr(one, name)[:, 3:] for name in ("auc", "seconds", "tuning_seconds")}
    one = one._replace(**last, parameters=[[{}]] * 3)
    assert "±" not in Page(render_page(Report("", comparison=one))).text
    assert "over 1 split, " in render_page(Report("", comparison=one))


@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_shorten(length):
    short = shorten("abcdefg", length)
    assert len(short) == length
    assert "abcdefg".startswith(short.split("…")[0])
    assert "abcdefg".endswith(short.split("…")[1])
    assert shorten("abcdefg", 7) == "abcdefg"


# Files and libraries


def test_write_page_writes_all_or_nothing(tmp_path, page, report):
    path = tmp_path / "report.html"
    write_page(path, report)
    assert path.read_text("utf-8") == page
    with pytest.raises(ValueError, match="could not convert"):
        write_page(path, report._replace(path={"mean_test_score": ["many"]}))
    assert path.read_text("utf-8") == page
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_name_of_broken_characters(tmp_path):
    write_page(tmp_path / "a.html", Report("caf\udce9", comparison=make_comparison(("caf\udce9", "b", "c"))))
    assert "<h1>caf?</h1>" in (tmp_path / "a.html").read_text("utf-8")


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_render_page_names_a_missing_library(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=re.escape("pip install 'aucmax[report]'")):
        render_page(Report("x"))


def test_report_html_imports_libraries_late():
    code = "import aucmax.report.html, sys; sys.exit(bool({'matplotlib', 'jinja2'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


# In a browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HARNESS = """<!doctype html><body style="margin: 0">
<iframe srcdoc="{page}" style="border: 0; width: 360px; height: 900px"></iframe>
<iframe srcdoc="{page}" style="border: 0; width: 1280px; height: 900px"></iframe>
<pre id="found"></pre>
<script>
window.onload = () => {{
  const measure = ({{contentWindow: view, contentDocument: page}}) => {{
    const box = (element) => {{
      const {{left, right, width, height}} = element.getBoundingClientRect();
      return {{left, right, width, height}};
    }};
    const root = page.documentElement;
    const texts = [...page.querySelectorAll("svg text")];
    return {{
      width: view.innerWidth,
      scroll: [root.scrollWidth, root.clientWidth],
      dark: view.matchMedia("(prefers-color-scheme: dark)").matches,
      background: view.getComputedStyle(page.body).backgroundColor,
      curve: view.getComputedStyle(page.querySelector("#roc-figure_1 [style*='stroke: var(--accent)']")).stroke,
      figures: [...page.querySelectorAll("svg")].map(box),
      texts: texts.map(box),
      sizes: texts.map((text) => {{
        const {{a, b}} = text.getScreenCTM();
        return Math.hypot(a, b) * parseFloat(view.getComputedStyle(text).fontSize);
      }}),
    }};
  }};
  found.textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(measure));
}};
</script>"""


def browse(folder, page, scheme):
    """Open the page at the width of a phone and of a desk, and return what the browser measures."""
    harness = folder / "harness.html"
    harness.write_text(HARNESS.format(page=escape(page)), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    options += [f"--blink-settings=preferredColorScheme={scheme}", "--enable-logging=stderr", "--window-size=1400,2000"]
    run = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", harness.as_uri()],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert "CONSOLE" not in run.stderr, run.stderr
    return json.loads(re.search('<pre id="found">(.*?)</pre>', run.stdout, flags=re.DOTALL)[1])


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_report_page_in_a_browser(tmp_path):
    page = render_page(make_report(HOSTILE, blended=True))
    light, dark = browse(tmp_path, page, 1), browse(tmp_path, page, 0)
    for view, width in zip(light, (360, 1280), strict=True):
        assert view["width"] == width
        assert view["scroll"][0] <= view["scroll"][1]
        assert len(view["figures"]) == 11
        for box in view["figures"] + view["texts"]:
            assert box["left"] >= 0
            assert box["right"] <= width
        assert min(min(box["width"], box["height"]) for box in view["figures"]) > 100
        assert min(view["sizes"]) >= 7
    assert [view["dark"] for view in light + dark] == [False] * 2 + [True] * 2
    for what in ("background", "curve"):
        assert light[0][what] != dark[0][what]


def test_a_note_is_there_with_and_without_figures():
    note = "Measured on <training> rows."
    for evaluation in (None, evaluate([False, False, True, True], [1, 3, 2, 4])):
        assert note in Page(render_page(Report("", note=note, evaluation=evaluation))).text

"""The study of variants: what is put back, what has diverged, and a page that has the measured gains."""

import json
from pathlib import Path

import numpy as np
import pytest

from aucmax import SHTAUC
from aucmax.papers import ALGORITHMS
from aucmax_studies.choices import variants
from aucmax_studies.choices.deviations import DEVIATIONS, with_variants
from aucmax_studies.choices.variants import Gain, signed

FOUND = json.loads(variants.RESULTS.read_text(encoding="utf-8"))
PAGE = Path(__file__).parents[2] / "docs" / "measured" / "variants.md"
CLASSES: dict[type, list[str]] = {}
for name in DEVIATIONS:
    CLASSES.setdefault(ALGORITHMS[name].make, []).append(name)
# Names of `_by_variant` that are not put back: SHT-AUC has no intercept.
NOT_THERE = {SHTAUC: {"_intercept_from_data"}}


def cells(*aucs, seconds=1.0):
    """Return figures of data sets, each with the AUC of its splits."""
    return {str(k): {"auc": list(each), "seconds": [seconds] * len(each)} for k, each in enumerate(aucs)}


def test_every_algorithm_with_variants_has_deviations():
    assert list(DEVIATIONS) == with_variants()


@pytest.mark.parametrize("cls", CLASSES)
def test_every_choice_of_a_variant_is_put_back(cls):
    deviations = [each for name in CLASSES[cls] for each in DEVIATIONS[name]]
    put_back = {key for each in deviations for key in each.back}
    if any(each.tuned for each in deviations):
        put_back |= {"eta0", "C"}
    assert put_back >= set(cls._by_variant) - NOT_THERE.get(cls, set())
    for each in deviations:
        for key, value in each.back.items():
            if key in cls._by_variant and not callable(value) and "variant" not in each.back:
                assert value == cls._by_variant[key][1] or key == "eta0"


@pytest.mark.parametrize("name", DEVIATIONS)
def test_what_is_put_back_is_a_parameter_or_a_choice_of_the_variant(name):
    estimator = ALGORITHMS[name]()
    known = set(estimator.get_params()) | {key for key in estimator._by_variant if key.startswith("_")}
    for deviation in DEVIATIONS[name]:
        assert known >= set(deviation.back) | set(deviation.base or {})


def test_fits_that_overflow_or_rank_below_the_weights_0_have_diverged():
    first, other = cells([0.9, 0.9], [0.8, 0.8], [0.7, 0.7]), cells([0.8, 0.8], [0.6, None], [0.9, 0.4], seconds=2.0)
    gain = Gain.of(first, other)
    assert gain.gaps == pytest.approx([0.1, 0.25, 0.05])  # .5 for the fit that has overflowed
    assert gain.diverged.tolist() == [False, True, True]
    assert (gain.divergence, gain.counts, gain.time) == ("2 (+0.1000)", "3 / 0", 2.0)


def test_a_gain_is_that_on_the_data_sets_of_the_deviation():
    first = cells([0.9], [0.8])
    assert Gain.of(first, {"1": first["1"]}).gaps == pytest.approx([0.0])


def test_a_difference_of_zero_has_no_sign():
    assert [signed(x) for x in (-1e-6, 1e-6, 0.00016, -0.0101)] == ["0.0000", "0.0000", "+0.0002", "-0.0101"]


def test_other_errors_of_a_fit_are_raised():
    X, y = np.zeros((4, 2)), np.zeros(4)
    with pytest.raises(ValueError, match="AUC needs two classes"):
        variants.fit("SOLAM", {}, (X, X, y, y))


def test_the_page_has_the_measured_gains():
    page = PAGE.read_text(encoding="utf-8")
    assert variants.variants_table(FOUND) in page
    assert variants.deviations_table(FOUND) in page

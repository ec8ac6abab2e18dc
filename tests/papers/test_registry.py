"""The entry of the registries: where it is imported from, what is fixed, what is tuned."""

import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from aucmax import OPAUC
from aucmax.papers import ALGORITHMS
from aucmax.papers.registry import Method, full_name, plain_name, standardized


@pytest.mark.parametrize("source", [".opauc:OPAUC", "aucmax.papers.opauc:OPAUC", OPAUC])
def test_a_source_is_a_name_or_the_object_itself(source):
    method = Method("mine", source, parameters={"rank": 3})
    assert (method.module, method.maker, method.make) == ("aucmax.papers.opauc", "OPAUC", OPAUC)
    assert method(alpha=0.5).get_params() == OPAUC(rank=3, alpha=0.5).get_params()
    assert method(rank=4).rank == 4
    assert method.seeded(7).random_state == 7


def test_fixed_parameters_leave_the_grid_and_stand_in_the_name():
    method = ALGORITHMS["OPAUCr"].fix(alpha=0.1)
    assert method.name == "OPAUCr(alpha=0.1)"
    assert set(method.grid) == {"eta0"}
    assert (method().alpha, method().rank) == (0.1, 50)
    assert set(ALGORITHMS["NSOLAM"].fix(radius=1.0).grid) == {"solam__eta0"}
    assert set(ALGORITHMS["OPAUCr"].grid) == {"alpha", "eta0"}, "the entry of the registry stays as it is"


def test_columns_are_standardised_and_the_grid_is_that_of_the_classifier():
    method = standardized("SVM", "sklearn.svm:LinearSVC", {"C": [1, 2]}, parameters={"dual": False})
    estimator = method.seeded(3).set_params(classifier__C=2)
    assert isinstance(estimator, Pipeline)
    assert isinstance(estimator[0], StandardScaler)
    assert isinstance(estimator[1], LinearSVC)
    assert (estimator[1].C, estimator[1].dual, estimator[1].random_state) == (2, False, 3)
    assert method.grid == {"classifier__C": [1, 2]}
    assert plain_name("classifier__C") == plain_name("C") == "C"
    assert full_name("C", estimator) == full_name("classifier__C", estimator) == "classifier__C"
    assert full_name("D", estimator) is None


def test_packages_that_are_missing_are_named_without_importing_the_source():
    method = Method("far", "no_such_package:Classifier", requires=("numpy", "no_such_package"))
    assert method.missing == ["no_such_package"]
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        method()

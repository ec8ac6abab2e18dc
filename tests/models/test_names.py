"""Model files use names that do not depend on where the code lives."""

import subprocess
import sys
import types
import typing

import pytest
import slow
from sklearn.base import BaseEstimator
from slow import slow_except
from small_models import EVERY_MODEL, X, assert_same, fit, make, outputs

from aucmax import load_model, save_model
from aucmax.models.names import NAMES, find, name_of

EVERY_NAME = [(name, tag) for tag, places in NAMES.items() for name in places]


def is_named_tuple(kind):
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def classes_in(value):
    """Return the named tuples and estimators that a value is made of."""
    parts = vars(value).values() if isinstance(value, BaseEstimator) else value
    parts = parts.values() if isinstance(parts, dict) else parts
    own = {type(value)} if isinstance(value, BaseEstimator) or is_named_tuple(type(value)) else set()
    if isinstance(value, BaseEstimator | dict | list | tuple):
        own.update(*map(classes_in, parts))
    return own


def test_names_are_unique_and_each_stands_for_one_class_or_function():
    assert len(dict(EVERY_NAME)) == len(EVERY_NAME)
    things = [find(*each) for each in EVERY_NAME]
    assert [(name_of(thing, tag), tag) for thing, (_, tag) in zip(things, EVERY_NAME, strict=True)] == EVERY_NAME


@pytest.mark.parametrize("name", slow_except(slow.MODELS, EVERY_MODEL))
def test_every_class_in_a_fitted_model_has_a_name(name):
    classes = classes_in(fit(make(name)))
    assert classes
    tags = {kind: "named_tuple" if is_named_tuple(kind) else "estimator" for kind in classes}
    assert {kind for kind, tag in tags.items() if name_of(kind, tag) is None} == set()


@pytest.mark.parametrize("name", NAMES["named_tuple"])
def test_named_tuples_in_the_fields_of_a_named_tuple_have_names(name):
    hints = typing.get_type_hints(find(name, "named_tuple")).values()
    kinds = {kind for hint in hints for kind in (hint, *typing.get_args(hint)) if is_named_tuple(kind)}
    assert {kind for kind in kinds if name_of(kind, "named_tuple") is None} == set()


def move_everything(patch):
    """Move every class and function of the table to a module of another name, and rename it."""
    things = [find(*each) for each in EVERY_NAME]  # all imported before the first is moved
    patch.setitem(sys.modules, "elsewhere", elsewhere := types.ModuleType("elsewhere"))
    for (name, tag), thing in zip(EVERY_NAME, things, strict=True):
        module, attribute = NAMES[tag][name].split(":")
        if tag != "named_tuple":  # algorithms make their states, which those of a file are compared with
            patch.delattr(sys.modules[module], attribute)
        patch.setattr(thing, "__module__", "elsewhere")
        setattr(elsewhere, f"Renamed{name}", thing)  # two classes may have one name
        patch.setitem(NAMES[tag], name, f"elsewhere:Renamed{name}")


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_a_model_survives_a_move_of_its_module(name, tmp_path, monkeypatch):
    model = fit(make(name))
    save_model(model, tmp_path / "before")
    with monkeypatch.context() as patch:
        move_everything(patch)
        loaded = load_model(tmp_path / "before")
        save_model(loaded, tmp_path / "after")
    assert_same(loaded, model)
    assert_same(outputs(loaded, X), outputs(model, X))
    content = (tmp_path / "before").read_bytes()
    assert (tmp_path / "after").read_bytes() == content
    for package in (b"aucmax.", b"sklearn.", b"scipy."):
        assert package not in content


@pytest.mark.slow
def test_saving_and_loading_import_nothing_that_the_model_does_not_need(tmp_path):
    code = """
import sys
from aucmax import AUCClassifier, load_model, save_model
save_model(AUCClassifier("squared", alpha=1.0).fit([[0.0], [1.0], [2.0]], [0, 1, 1]), "model")
load_model("model")
kept = [name for name in sys.modules if name.startswith("aucmax.papers.")]
print([name for name in kept if name != "aucmax.papers.registry"])
"""
    result = subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert result.stdout == "[]\n"

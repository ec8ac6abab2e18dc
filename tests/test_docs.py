"""Docstrings that inherit entries: all parameters of a class, in the order of its signature, with its defaults."""

import inspect
import re
import subprocess
import sys

import pytest

import aucmax
from aucmax._base import LinearAUCClassifier
from aucmax._docs import inherit_entries

CLASSES = [getattr(aucmax, name) for name in aucmax.__all__]
CLASSIFIERS = [each for each in CLASSES if isinstance(each, type) and issubclass(each, LinearAUCClassifier)]


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_the_docstring_has_all_entries_of_the_signature_in_its_order(cls):
    parameters = cls.__doc__.partition("Parameters\n----------\n")[2].partition("\nAttributes\n")[0]
    written = re.findall(r"^(\w+) : .*?(?:default=(.+))?$", parameters, re.MULTILINE)
    signature = inspect.signature(cls).parameters
    assert [name for name, _ in written] == list(signature)
    for name, default in written:
        assert default in ("", '"..."') or eval(default) == signature[name].default
    for name in ("coef_", "intercept_", "classes_", "calibration_", "n_features_in_", "feature_names_in_"):
        assert len(re.findall(rf"^{name} : ", cls.__doc__, re.MULTILINE)) == 1


def test_inherit_entries_takes_what_a_class_writes_and_the_defaults_of_its_signature():
    class Base:
        """Base.

        Parameters
        ----------
        a : int, default=1
            First.

        b : str, default="x"
            Second.

        c : int, default=3
            Not for all.
        """

    class Own(Base):
        """Own.

        Parameters
        ----------
        d : int
            Own.

        Examples
        --------
        None.
        """

        def __init__(self, d, b="y", a=1): ...

    inherit_entries(Own)
    assert Own.__doc__ == (
        "Own.\n\nParameters\n----------\nd : int\n    Own.\n\n"
        'b : str, default="y"\n    Second.\n\na : int, default=1\n    First.\n\nExamples\n--------\nNone.\n'
    )


def test_inherit_entries_completes_docstrings_of_methods():
    class Base:
        """Base."""

        def draw(self, x):
            """Draw.

            Parameters
            ----------
            x : float
                Where.
            """

    class Own(Base):
        """Own.

        Parameters
        ----------
        name : str, default=""
            The name.
        """

        def __init__(self, name=""): ...

        def draw(self, x, name=None):
            """Draw more."""

        @classmethod
        def make(cls) -> "Own":
            """Make one."""

        def stop(self) -> None:
            """Stop."""

    inherit_entries(Own, "Returns\n-------\nit : Self\n    The thing.")
    returned = "\n\nReturns\n-------\nit : Own\n    The thing.\n"
    parameters = "x : float\n    Where.\n\nname : str, default=None\n    The name."
    assert Own.draw.__doc__ == f"Draw more.\n\nParameters\n----------\n{parameters}{returned}"
    assert Own.make.__doc__ == f"Make one.{returned}"
    assert Own.stop.__doc__ == "Stop.\n"


@pytest.mark.parametrize("cls", [each for each in CLASSES if "Display" in str(each)])
def test_docstrings_of_displays_have_entries_for_all_arguments(cls):
    for name in ("from_estimator", "from_predictions", "from_cv_results", "plot"):
        if method := getattr(cls, name, None):
            written = re.findall(r"^(\w+) : ", inspect.cleandoc(method.__doc__), re.MULTILINE)
            expected = [each for each in inspect.signature(method).parameters if each != "self"]
            assert written == [*expected, "display"]


def test_write_report_has_entries_for_all_arguments():
    written = re.findall(r"^(\w+) : ", aucmax.write_report.__doc__, re.MULTILINE)
    assert written == [*inspect.signature(aucmax.write_report).parameters, "evaluation"]


@pytest.mark.slow
def test_import_without_docstrings():
    command = "import aucmax; assert aucmax.PSAM.__doc__ is aucmax.ROCDisplay.__doc__ is None; print(aucmax.PSAM())"
    done = subprocess.run([sys.executable, "-OO", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "PSAM()\n"

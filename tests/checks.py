"""What scikit-learn's checks of an estimator are expected to find."""

from contextlib import nullcontext

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

# There the check of weights makes two classes out of three after it has shuffled the rows of one fit: in the two fits
# the positive class is another one.
MIXES_CLASSES_UP = parse_version(sklearn.__version__) < parse_version("1.7")


def what_is_expected(check):
    """Return the context of a check: those of arrays on a device find that fitted attributes are NumPy arrays.

    That is a decision: an estimator that was fitted on a device can be used and saved anywhere. The rest of what they
    ask for is checked by tests/rows/device/test_device.
    """
    if MIXES_CLASSES_UP and "check_sample_weight_equivalence" in getattr(check, "func", check).__name__:
        pytest.skip("scikit-learn before 1.7 fits other labels in this check")
    given = getattr(check, "keywords", {})
    namespace = given["X_ns_and_device"].xp if "X_ns_and_device" in given else given.get("array_namespace", "numpy")
    if namespace == "numpy":
        return nullcontext()
    return pytest.raises(AssertionError, match=r"attribute is in wrong namespace|did not raise when called with a diff")

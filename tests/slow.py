"""Sweeps of which `make test` runs one case of each kind, and `make test-all` the rest."""

import pytest


def slow_except(fast, cases):
    """Return the cases as parameters, those not in `fast` marked as slow."""
    assert set(fast) <= set(cases)
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]

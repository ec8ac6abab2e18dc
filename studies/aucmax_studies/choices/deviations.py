"""What the defaults of the algorithms do otherwise than the papers, and how each of these is put back by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from aucmax import ASAM, RegSOLAM, UniSqu
from aucmax._base import RowsClassifier
from aucmax.papers import ALGORITHMS
from aucmax.papers.engine.variant import VariantMixin


class Deviation(NamedTuple):
    """A choice of a default that is not the paper's.

    Attributes
    ----------
    name : str
        What the default does, as the page says it.
    back : mapping
        What the default is given instead: parameters, and names of `_by_variant` that are none. A function is called
        with the share p of the positives in the training rows.
    base : mapping or None
        What it is compared with; None is the default as it is.
    tuned : bool
        Whether the step or C of both sides, where they are not the default as it is, is chosen from the paper's grid.
    sparse : bool
        Whether it changes anything on sparse rows alone.
    """

    name: str
    back: Mapping[str, Any]
    base: Mapping[str, Any] | None = None
    tuned: bool = False
    sparse: bool = False


AS_THEY_ARE = {"standardize": False, "_center": False}
COLUMNS = Deviation("centred and standardised columns", AS_THEY_ARE)
STANDARDISED = Deviation("standardised columns", AS_THEY_ARE)  # where a shift changes nothing
STEPS = Deviation("steps from the data", {}, tuned=True)
AVERAGE = Deviation("an average", {"average": False})
PAIR_STEP = Deviation("the first step from the data", {"eta0": ASAM().alpha ** -0.25})
PAPER_KERNEL = {"variant": "paper", "standardize": True}
BESIDE_SHARES = {"alpha": lambda p: RegSOLAM().alpha / (p * (1 - p))}  # minimises p (1 - p) f(w) + alpha |w|^2

_OPAUC = [
    COLUMNS,
    STEPS,
    Deviation("steps preconditioned by the moments", {"_preconditions": False}),
    Deviation("five passes", {"max_iter": 1}),
    AVERAGE,
]
_SPAM = [COLUMNS, STEPS, Deviation("alpha beside f/2", {"_beside_half_loss": False})]
_SPARSE_SPAM = [
    *_SPAM,
    Deviation("thresholds for several steps at once", {"_thresholds_together": False}, sparse=True),
    Deviation("a sparse result", {"average": True}),
]
_PENALTY = Deviation("a small L2 penalty", {"alpha": 0.0})
_BLOCKS = [
    _PENALTY,
    Deviation("the number of blocks from the data", {"n_blocks": 1}),
    Deviation("mixed blocks of equal mass", {"_mixed_blocks": False}),
]
_INTERCEPT = Deviation("an intercept from the data", {"_intercept_from_data": False})
_UNI = [
    COLUMNS,
    Deviation(
        "implicit steps from the data, an intercept, class weights so far",
        {**PAPER_KERNEL, "average": True, "alpha": UniSqu()._strength()},
        tuned=True,
    ),
    AVERAGE,
    Deviation("a penalty", {"alpha": 1e-9}),
]
_OAM = [STANDARDISED, STEPS, AVERAGE]
_CBR = [
    STANDARDISED,
    STEPS._replace(name="C from the data"),
    Deviation("a buffer met slot by slot", {"_by_age": True}),
    Deviation("weights of length 1", {"_unit_length": False}),
]
_GAUSSIAN = [Deviation("the optimum instead of the descent", {"solver": "gradient"})]

DEVIATIONS: dict[str, list[Deviation]] = {
    "OPAUC": _OPAUC,
    "OPAUCr": [*_OPAUC, Deviation("centred sketches", {"centering": "paper"})],
    "SOLAM": [
        COLUMNS,
        STEPS,
        Deviation("what is averaged, and from when on", PAPER_KERNEL, {}, tuned=True),
    ],
    "RegSOLAM": [
        COLUMNS,
        STEPS,
        Deviation("the penalty beside f", BESIDE_SHARES),
        Deviation("a proximal step for the penalty beside f, and what is averaged", PAPER_KERNEL, {}, tuned=True),
    ],
    "SPAM": _SPAM,
    "SPAMl1": _SPARSE_SPAM,
    "SPAMl1l2": _SPARSE_SPAM,
    "FSAUC": [
        COLUMNS,
        Deviation("bounds in the unit of the rows", {"_bounds_in_units": False}),
        STEPS,
        Deviation("known shares and means of the classes", {"_known_classes": False}),
        Deviation("projections for several steps at once", {"_projects_together": False}, sparse=True),
        Deviation("a last stage with the steps left over", {"_takes_all_steps": False}),
    ],
    "SPDAM": [
        STANDARDISED,
        Deviation("longer steps", {"_long_steps": False}),
        Deviation("batches that are a partition", {"_partition": False}),
    ],
    "SHTAUC": [STANDARDISED, Deviation("the step found on the way", {"eta0": lambda p: 2 * p * (1 - p)}), *_BLOCKS],
    "StoIHT": [COLUMNS, Deviation("the step found on the way", {"eta0": 1.0}), *_BLOCKS, _INTERCEPT],
    "HSGHT": [
        COLUMNS,
        Deviation("the step found on the way", {"eta0": 3.0}),
        _PENALTY,
        _INTERCEPT,
        Deviation("batches cut from one order", {"_cut_batches": False}),
    ],
    "ASAM": [STANDARDISED, PAIR_STEP, Deviation("a limit on steps", {"_limited": False})],
    "PSAM": [STANDARDISED, PAIR_STEP],
    "UniSqu": _UNI,
    "UniExp": _UNI,
    "UniLog": _UNI,
    "OAM": _OAM,
    "OAMgra": _OAM,
    "CBR": _CBR,
    "CBRdiag": _CBR,
    "GaussianAUC": [
        *_GAUSSIAN,
        Deviation("shrinkage", {"alpha": 0.0}),
        Deviation("standardised columns", {"standardize": False}),
    ],
    "GaussianError": [
        *_GAUSSIAN,
        Deviation("a threshold", {"solver": "gradient", "fit_intercept": False}, {"solver": "gradient"}),
        Deviation("shrinkage", {"shrinkage": 0.0}),
        Deviation("standardised columns", {"standardize": False}),
    ],
}


def with_variants() -> list[str]:
    """Return the algorithms whose variants take other steps; convex problems of all rows differ in scaling alone."""
    return [
        name
        for name, method in ALGORITHMS.items()
        if isinstance(method.make, type)
        and issubclass(method.make, VariantMixin)
        and not issubclass(method.make, RowsClassifier)
    ]

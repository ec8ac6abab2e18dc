"""How much of a paper's protocol is done: all of it, as much as hours allow, or enough to see that it works."""

from typing import NamedTuple


class Effort(NamedTuple):
    """How much of the papers' protocols is done; None stands for all of it."""

    name: str  # "quick", "standard" or "full"
    max_rows: int | None = None  # the most rows of a data set
    few_rows: int = 2_000  # data with at most this many rows and columns count as small
    few_columns: int = 1_000
    runs_of_small: int | None = None  # the most splits or draws of small data
    runs: int | None = None  # the most splits of other real data, and the most draws of other generated data
    draws: int | None = None
    candidates: int | None = None  # the most candidates of a grid; larger grids are thinned evenly
    # the most rows that the search for parameters begins with (see `aucmax.compare.tuning.rank`), and the most nonzero
    # values of these rows. Small data are searched in one round.
    first_rows: int | None = None
    first_values: int | None = None
    points: int | None = None  # the most points of a curve
    drawn_rows: int | None = None  # number of rows of generated data; None for the paper's
    groupings: int = 40  # the most choices of the positive classes, and the most rows, that `measure_groupings` tries
    grouping_rows: int = 20_000


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort(
            name="quick",
            max_rows=1_000,
            few_rows=0,
            few_columns=0,
            runs=2,
            draws=2,
            candidates=3,
            first_rows=500,
            first_values=20_000,
            points=4,
            drawn_rows=1_000,
            groupings=4,
            grouping_rows=2_000,
        ),
        Effort(
            name="standard",
            few_rows=5_000,
            few_columns=10_000,
            runs_of_small=25,
            runs=5,
            draws=20,
            candidates=300,
            first_rows=1_000,
            first_values=300_000,
            points=10,
        ),
        Effort(name="full"),
    )
}

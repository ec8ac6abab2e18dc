"""A raw table of credits, as people have them: gaps in several spellings, employers, dates, an identifier."""

import csv
import datetime
import io

import numpy as np

GAPS = ("", "NA", "n/a", "?", "-", "null", "None")
HEADER = (
    "loan_id",
    "income",
    "amount",
    "rate",
    "age",
    "home",
    "employer",
    "own car",
    "since",
    "called",
    "purpose",
    "bad",
)
N_EMPLOYERS = 500


def draw_credits(n_rows=2000, seed=0):
    """Return the rows of a raw table, as lists of cells of text; the last cell is the label, yes or no."""
    rng = np.random.default_rng(seed)
    effects = np.random.default_rng(7).standard_normal(N_EMPLOYERS)  # the same for every draw
    employer = (N_EMPLOYERS * rng.random(n_rows) ** 2).astype(int)
    income, amount = rng.lognormal(10.3, 0.5, n_rows), rng.lognormal(8.5, 0.7, n_rows)
    age, rate = rng.integers(18, 80, n_rows), rng.uniform(2, 15, n_rows)
    home, car = rng.choice(["rent", "own", "mortgage"], n_rows, p=[0.4, 0.2, 0.4]), rng.random(n_rows) < 0.6
    days, hours = rng.integers(0, 2000, n_rows), rng.integers(8, 19, n_rows)
    score = (
        amount / income * 3
        - 0.02 * age
        + (home == "rent")
        - 0.5 * car
        + 0.15 * rate
        + effects[employer]
        - 0.0005 * days
    )
    bad = score + rng.logistic(size=n_rows) > np.quantile(score, 0.8)
    start = datetime.datetime(2019, 1, 1)
    rows = []
    for i in range(n_rows):
        moment = start + datetime.timedelta(days=int(days[i]), hours=int(hours[i]))
        cells = [
            f"L{100000 + i}",
            f"${income[i]:,.2f}",
            f"{amount[i]:.2f}",
            f"{rate[i]:.1f}%",
            str(age[i]),
            home[i],
            f"Firm {employer[i]}",
            ("no", "yes")[int(car[i])],
            moment.strftime("%d/%m/%Y"),
            moment.strftime("%Y-%m-%d %H:%M"),
            rng.choice(["car", "house", "other, not said"]),
        ]
        for j in np.flatnonzero(rng.random(len(cells)) < 0.03):
            if j > 0:
                cells[j] = rng.choice(GAPS)
        rows.append([*map(str, cells), ("no", "yes")[int(bad[i])]])
    return rows


def write_credits(path, rows, delimiter=","):
    """Write rows as CSV and return the path."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([HEADER, *rows])
    path.write_text(text.getvalue(), encoding="utf-8")
    return path

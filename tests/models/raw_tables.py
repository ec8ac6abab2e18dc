"""Raw tables with all that makes the SQL of a model wrong: names, spellings, gaps, forms of numbers, dates."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd

LEVELS = (
    "basic", "\\'); DROP TABLE loans; -- ", "'; DROP TABLE loans; --", "a\nb", "a\r\n--b", "/* x */", "*/ y /*",
    "o'neil", 'say "hi"', "`tick`", "back\\slash", "\\", "ends\\", "line\u2028break", "page\u2029", "Größe", "日本",
    "😀", "tab\there", "{0}", "%s", "$1", "NULL;", "#", "E'x'", "\x01", "a\x85b", "no\u00a0break", "Basic", "BASIC",
)  # fmt: skip
GAPS = ("", " ", "NA", "n/a", "null", "None", "?", "-", "\u2013", "NaN", "\\N", "#N/A", "Missing", "-999")
NAMES = (
    'sum "net"',
    "it's",
    "a`b",
    "x]; --",
    "new\nline",
    "back\\slash",
    "\u2028",
    "t1",
    "score",
    "texts",
    "SELECT",
    "日本",
)


def pick(rng, values, n):
    """Return n of some values."""
    return [values[k] for k in rng.integers(len(values), size=n)]


def with_gaps(rng, cells, gaps=GAPS, share=0.1):
    """Return cells of which some are gaps."""
    return [
        gap if hit else cell
        for cell, gap, hit in zip(cells, pick(rng, gaps, len(cells)), rng.random(len(cells)) < share, strict=True)
    ]


def words(rng, n):
    """Truth values and levels in hostile spellings, and hostile names."""
    pairs = (("Yes", "No"), ("YES", " no "), ("true", "FALSE"), ("t", "F"), ("y", "N"), ("on", "Off"))
    columns = [pick(rng, pair, n) for pair in pairs] + [pick(rng, LEVELS[k::3], n) for k in (0, 0, 1, 1, 2)]
    columns.append([f"{a} " for a in pick(rng, LEVELS[:6], n)])
    return pd.DataFrame({name: with_gaps(rng, cells) for name, cells in zip(NAMES, columns, strict=True)})


def numbers(rng, n):
    """Numbers as people write them."""
    x = np.round(rng.normal(0, 5000, n), 2)
    grouped = [f"{abs(each):,.2f}" for each in x]
    signed = lambda texts, minus: [minus + text if each < 0 else text for text, each in zip(texts, x, strict=True)]  # noqa: E731
    french = [text.replace(",", "\u202f").replace(".", ",") for text in signed(grouped, "-")]
    return pd.DataFrame(
        {
            "dollars": with_gaps(rng, signed([f"${text}" for text in grouped], "-")),
            "brackets": with_gaps(
                rng, [f"({text})" if each < 0 else text for text, each in zip(grouped, x, strict=True)]
            ),
            "both": with_gaps(rng, [f"$({t})" if e < 0 else f"$ {t}" for t, e in zip(grouped, x, strict=True)]),
            "share": with_gaps(rng, [f"{each / 100:.1f} %" for each in x]),
            "french": with_gaps(rng, french),
            "german": with_gaps(
                rng, [t.replace(",", "_").replace(".", ",").replace("_", ".") for t in signed(grouped, "\u2212")]
            ),
            "euros": with_gaps(rng, [f"{t} EUR" for t in signed(grouped, "-")]),
            "typeset": with_gaps(rng, signed([f"{abs(each)}" for each in x], "\u2212")),
            "powers": with_gaps(rng, [f"{each:.3e}" for each in x]),
            "swiss": with_gaps(rng, signed([text.replace(",", "'") for text in grouped], "-")),
            "code": with_gaps(rng, [f"{k:05d}" for k in rng.integers(0, 30, n)]),
            "clock": with_gaps(rng, [f"{k // 60}:{k % 60:02d}" for k in rng.integers(0, 1440, n)]),
        }
    )


def dates(rng, n):
    """Dates as text."""
    days = pd.Timestamp("1960-01-15") + pd.to_timedelta(rng.integers(0, 25_000, n), "D")
    times = days + pd.to_timedelta(rng.integers(0, 86_400, n), "s")
    return pd.DataFrame(
        {
            "iso": with_gaps(rng, days.strftime("%Y-%m-%d").tolist()),
            "time": with_gaps(rng, times.strftime("%Y-%m-%dT%H:%M:%SZ").tolist()),
            "zone": with_gaps(rng, times.strftime("%Y-%m-%d %H:%M:%S.5+02:00").tolist()),
            "short": with_gaps(
                rng, [f"{d.year}-{d.month}-{d.day} {t.hour}:{t.minute:02d}" for d, t in zip(days, times, strict=True)]
            ),
            "british": with_gaps(rng, times.strftime("%d/%m/%Y %H:%M").tolist()),
            "german": with_gaps(rng, days.strftime("%d.%m.%y").tolist()),
            "month": with_gaps(rng, days.strftime("%Y-%m").tolist()),
            "named": with_gaps(rng, [f"{time:%d %B %Y %H:%M}" for time in times]),
            "american": with_gaps(rng, [f"{day:%b %d, %Y}" for day in days]),
        }
    )


def native(rng, n):
    """Columns of the types that frames have."""
    days = pd.Timestamp("2001-03-01") + pd.to_timedelta(rng.integers(0, 5000, n), "D")
    gap = lambda values: pd.Series(values, dtype=object).mask(rng.random(n) < 0.1)  # noqa: E731
    return pd.DataFrame(
        {
            "float": rng.normal(size=n) * 10.0 ** rng.integers(-12, 12, n),
            "gaps": gap(rng.normal(size=n)).astype(float),
            "special": np.where(rng.random(n) < 0.1, -999.0, np.round(rng.normal(size=n), 1)),
            "integer": rng.integers(-5, 6, n),
            "truth": rng.random(n) < 0.5,
            "decimal": [Decimal(int(k)) / 100 for k in rng.integers(0, 500, n)],
            "day": [day.date() for day in days],
            "moment": days + pd.to_timedelta(rng.integers(0, 86_400, n), "s"),
            "postcode": rng.integers(500, 530, n),
            "rate": rng.choice([0.5, 1.0, 1.25, 2.0], n),
            "text": gap(pick(rng, LEVELS[:8], n)),
        }
    )


TABLES = {each.__name__: each for each in (words, numbers, dates, native)}


CATEGORICAL = {"native": ["postcode", "rate"]}
KINDS = {
    "words": dict(zip(NAMES, 6 * ["boolean"] + 6 * ["category"], strict=True)),
    "numbers": dict.fromkeys(
        ("dollars", "brackets", "both", "share", "french", "german", "euros", "typeset", "powers", "swiss"), "number"
    )
    | {"code": "category", "clock": "number"},
    "dates": dict.fromkeys(("iso", "time", "zone", "short", "british", "german", "month", "named", "american"), "date"),
    "native": dict.fromkeys(("float", "gaps", "special", "integer", "decimal"), "number")
    | {"truth": "boolean", "day": "date", "moment": "date"}
    | dict.fromkeys(("postcode", "rate", "text"), "category"),
}


def labels(frame, rng):
    """Return labels that depend on all columns a little."""
    codes = [pd.factorize(frame[name].astype(str).str.strip().str.lower(), sort=True)[0] for name in frame]
    score = sum(np.sin(2 * code / max(code.max(), 1) + k) for k, code in enumerate(codes))
    return score + rng.normal(size=len(frame)) > np.median(score)


def as_text(frame):
    """Return a frame of text, as a loader that knows no types has it."""
    return frame.map(lambda value: None if value is None or value is pd.NaT or value != value else str(value)).astype(
        object
    )


def plain(value):
    """Return a cell as databases of Python take it."""
    if isinstance(value, datetime.date | Decimal):
        return str(value)
    return value

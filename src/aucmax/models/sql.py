"""Models of tables as SQL that scores the raw table, in several dialects.

Conventions
-----------
Each column is cast to text, trimmed, and read as `tables.reading` reads a text: so it does not matter whether a loader
made the column text, numbers or dates. There are three layers. The first has x, the raw cell, and t, its text, NULL
where it is missing; the second has v, a number or a level, NULL where t is missing or cannot be read; the third has the
conditions. The score of a row with a cell that cannot be read is NULL.

Regular expressions check numbers and dates, without groups to refer to. SQLite has none: there, the text is rewritten
until only a few words are left (`_matches_number`). Dates are computed from their digits, without functions of dates.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import math
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .._text import ArgumentError, one_line
from ..tables.curves import Values
from ..tables.reading import Reading
from ..tables.reading.cells import BLANK, BOOLEANS, MINUS, MISSING, number_form
from ..tables.reading.dates import DIGITS_FORM, TIME_FORM
from ..tables.reading.kinds import LABELS, Column, Part
from ..tables.reading.summary import SECONDS
from .cell_reader import MONTHS, number_pattern
from .formula import Cases, Formula, Slope, make_formula, numeric_levels

WHITESPACE = "".join(chr(c) for c in range(0x3001) if chr(c).isspace())
# So that no database overflows: a text has up to LONGEST characters, and an exponent is below 240.
GROUPS = 9  # the layer of the groups of surfaces, after all others
LONGEST, EXPONENT = 60, "0*(1?[0-9]?[0-9]|2[0-3][0-9])"
# As databases write doubles: from 1e240 to the largest double, and from the smallest to 1e-240.
LARGE = (
    "[-+]?([0-9]([.][0-9]*)?[eE][-+]?(2[4-9][0-9]|30[0-7])|[1-9]([.][0-9]*)?[eE]-(30[89]|31[0-9]|32[0-3])|"
    "[3-9]([.][0-9]*)?[eE]-324|1([.]([0-6][0-9]*|7([0-8][0-9]*)?|79([0-6][0-9]*)?|79769313486231(57)?)?)?[eE][+]?308)"
)
DAYS_TO_1970 = 719_468  # from 1 March of the year 0
BEFORE_MONTH = (306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275)  # days since 1 March
ISO = "%Y-%m-%d"
CLOCK = "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?"
ZONE = " ?(Z|[-+][0-9]{2}(:?[0-9]{2})?)?"  # of two digits, as databases write it


class Dialect(NamedTuple):
    """What differs between the databases; {} is what a template is about."""

    name: str
    mark: str  # around identifiers
    escapes: str  # how strings write control characters
    text: str  # with trim: a cell as text, without the blanks {blanks} around it
    trim: str
    number: str  # a text as a number
    whole: str  # a text of digits as a whole number
    is_text: str  # whether a column is text
    matches: str  # whether a text {} is in a {pattern}
    divide: str  # the quotient of whole numbers, rounded down
    find: str  # the place of a mark {c} in a text, from 1
    join: str  # two texts
    cte: str = "AS"  # that is computed once
    native: str = ""  # a number of a type of numbers, where its text would lose digits


DIALECTS = {
    each.name: each
    for each in (
        Dialect(
            "postgres", '"', "E", "CAST({} AS TEXT)", "BTRIM({}, {blanks})",
            "CAST({} AS DOUBLE PRECISION)", "CAST({} AS INTEGER)",
            "CAST(PG_TYPEOF({}) AS TEXT) IN ('text', 'character varying', 'character')", "({} ~ {pattern})",
            "({} / {by})", "STRPOS({}, '{c}')", "({} || {other})", "AS MATERIALIZED",
        ),
        Dialect(
            "duckdb", '"', "CHR", "CAST({} AS VARCHAR)",
            r"REGEXP_REPLACE({}, '^[\s\v\x1c-\x1f\x85\p{{Z}}]+|[\s\v\x1c-\x1f\x85\p{{Z}}]+$', '', 'g')",
            "TRY_CAST({} AS DOUBLE)", "TRY_CAST({} AS INTEGER)",
            "REGEXP_MATCHES(TYPEOF({}), '^(VARCHAR|ENUM)')", "REGEXP_MATCHES({}, {pattern})",
            "({} // {by})", "STRPOS({}, '{c}')", "({} || {other})", "AS MATERIALIZED",
        ),
        Dialect(
            "sqlite", "`", "CHR", "CAST({} AS TEXT)", "TRIM({}, {blanks})",
            "CAST({} AS REAL)", "CAST({} AS INTEGER)",
            "TYPEOF({}) IN ('text', 'blob')", "", "({} / {by})", "INSTR({}, '{c}')", "({} || {other})",
            "AS MATERIALIZED", "CAST({} AS REAL)",
        ),
        Dialect(
            "mysql", "`", "X", "CONVERT({} USING utf8mb4) COLLATE utf8mb4_bin",
            "REGEXP_REPLACE({}, '^[[:space:]]+|[[:space:]]+$', '')", "CAST({} AS DOUBLE)", "CAST({} AS SIGNED)",
            "JSON_TYPE(JSON_EXTRACT(JSON_ARRAY({}), '$[0]')) = 'STRING'", "REGEXP_LIKE({}, {pattern}, 'c')",
            "({} DIV {by})", "INSTR({}, '{c}')", "CONCAT({}, {other})",
        ),
        Dialect(
            "bigquery", "`", "\\u", "CAST({} AS STRING)", "TRIM({}, {blanks})",
            "SAFE_CAST({} AS FLOAT64)", "SAFE_CAST({} AS INT64)",
            "SUBSTR(FORMAT('%T', {}), 1, 1) IN ('\"', '\\'')", "REGEXP_CONTAINS({}, {pattern})",
            "DIV({}, {by})", "STRPOS({}, '{c}')", "CONCAT({}, {other})",
        ),
        Dialect(
            "snowflake", '"', "\\u", "CAST({} AS VARCHAR)", "TRIM({}, {blanks})",
            "TRY_TO_DOUBLE({})", "TRY_TO_NUMBER({})",
            "TYPEOF(TO_VARIANT({})) = 'VARCHAR'", "REGEXP_LIKE({}, {pattern})",
            "FLOOR({} / {by})", "CHARINDEX('{c}', {})", "CONCAT({}, {other})", "AS",
            "COALESCE(AS_DOUBLE(TO_VARIANT({0})), CAST(AS_BOOLEAN(TO_VARIANT({0})) AS INTEGER))",
        ),
        Dialect(
            "spark", "`", "\\u", "CAST({} AS STRING)", "TRIM(BOTH {blanks} FROM {})",
            "TRY_CAST({} AS DOUBLE)", "TRY_CAST({} AS INT)",
            "TYPEOF({}) = 'string'", "({} RLIKE {pattern})",
            "({} DIV {by})", "INSTR({}, '{c}')", "CONCAT({}, {other})",
        ),
    )
}  # fmt: skip
LINE = "\n  "
STATEMENTS_ONLY = ("bigquery", "snowflake", "spark")  # they may refuse a subquery about the row around it
MOST_SELECTED = {"sqlite": 2000, "postgres": 1664, "mysql": 4096}
WITHOUT_TRUTH = ("sqlite", "mysql")  # whose truth values are numbers
RELATIVES = {"oracle": "postgres", "redshift": "postgres", "mariadb": "mysql", "databricks": "spark", "hive": "spark"}


def find_dialect(name: str) -> Dialect:
    """Return a dialect by its name."""
    if name in DIALECTS:
        return DIALECTS[name]
    close = RELATIVES.get(name.lower()) or next(iter(difflib.get_close_matches(name.lower(), DIALECTS)), None)
    nearest = f"; the nearest is {close}" if close else ""
    raise ArgumentError("{dialect=} is one of {}, not {}{}.", ", ".join(DIALECTS), repr(name), nearest)


# Words


def identifier(dialect: Dialect, name: str) -> str:
    """Return a name, quoted.

    SQLite takes a name in double quotes for a text if no column has it, and one in backticks never.
    """
    if "\0" in name or not name:
        raise ValueError(f"a column is called {name!r}, which SQL cannot name: rename it.")
    mark = dialect.mark
    if dialect.name == "bigquery":
        return mark + "".join(_escaped(c, mark) for c in name) + mark
    return mark + name.replace(mark, 2 * mark) + mark


def literal(dialect: Dialect, text: str) -> str:
    """Return a text as a string of SQL, in which no character ends it or hides anything."""
    odd = not text.isprintable()
    if "\0" in text and dialect.name == "postgres":
        raise ValueError(f"{text!r} has a NUL character, which texts of PostgreSQL cannot have.")
    if dialect.escapes == "\\u":
        return "'" + "".join(_escaped(c, "'") for c in text) + "'"
    if not odd and (dialect.escapes == "CHR" or "\\" not in text):
        return "'" + text.replace("'", "''") + "'"
    if dialect.escapes == "X":  # whatever the mode of the server says about backslashes
        return f"_utf8mb4 X'{text.encode().hex()}'"
    if dialect.escapes == "E":
        return "E'" + "".join("''" if c == "'" else _escaped(c, "'") for c in text) + "'"
    function, parts = "CHAR" if dialect.name == "sqlite" else "CHR", []
    for printable, run in itertools.groupby(text, key=str.isprintable):
        characters = list(run)
        plain = literal(dialect, "".join(characters)) if printable else ""
        parts += [plain] if printable else [f"{function}({ord(c)})" for c in characters]
    return f"({' || '.join(parts)})" if len(parts) > 1 else parts[0]


def _escaped(c: str, mark: str) -> str:
    """Return a character of a string that has escapes."""
    if c in ("\\", mark):
        return "\\" + c
    return c if c.isprintable() or ord(c) > 0xFFFF else f"\\u{ord(c):04x}"


def listed(dialect: Dialect, texts: Iterable[str]) -> str:
    """Return texts as a list in brackets."""
    return f"({', '.join(literal(dialect, text) for text in texts)})"


def amount_of(value: float) -> str:
    """Return a number; one of many digits as a double, because a decimal would be rounded twice."""
    text = repr(value)
    return text if isinstance(value, int) or "e" in text or len(text) <= 16 else f"{text}e0"


def replaced(x: str, *pairs: tuple[str, str]) -> str:
    """Return a text in which some strings, given as SQL, are replaced."""
    for old, new in pairs:
        x = f"REPLACE({x}, {old}, {new})"
    return x


def rewritten(x: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return a text in which many strings are replaced, in SQLite, whose parser has little depth."""
    steps = [replaced("k", *pairs[i : i + 8]) for i in range(0, len(pairs), 8)]
    ctes = [f"k0(k) AS (SELECT {x})", *(f"k{n}(k) AS (SELECT {step} FROM k{n - 1})" for n, step in enumerate(steps, 1))]
    return f"(WITH {', '.join(ctes)} SELECT k FROM k{len(steps)})"


def zeros(x: str) -> str:
    """Return a text with zeros for all digits."""
    return replaced(x, *((f"'{digit}'", "'0'") for digit in range(1, 10)))


# Cells


def text_of(dialect: Dialect, x: str, column: Column, na_values: Sequence[str]) -> str:
    """Return the text of a cell, NULL if it is missing; levels that are numbers as the training rows spelled them."""
    text = dialect.trim.format(dialect.text.format(x), blanks=literal(dialect, WHITESPACE))
    named = f" OR {text} IN {listed(dialect, na_values)}" if na_values else ""
    missing = f"LOWER({text}) IN {listed(dialect, MISSING)}{named}"
    is_number = re.compile(number_pattern("", "", ".")).fullmatch
    numbers = [float(word) for word in na_values if is_number(word)]
    if numbers and column.kind == "number" and not column.form.endswith("%"):
        value = native_number(dialect, x, text)
        missing += f" OR NOT ({dialect.is_text.format(x)}) AND {value} IN ({', '.join(map(repr, numbers))})"
    levels = column.parts[0].levels or [] if column.kind == "category" else []
    by_value = numeric_levels(levels)
    if not by_value:
        return f"CASE WHEN {missing} THEN NULL ELSE {text} END"
    whens = " ".join(f"WHEN {amount_of(value)} THEN {literal(dialect, level)}" for value, level in by_value.items())
    return (
        f"CASE WHEN {missing} THEN NULL WHEN {dialect.is_text.format(x)} OR {text} IN {listed(dialect, levels)} "
        f"THEN {text} ELSE CASE {native_number(dialect, x, text)} {whens} ELSE {text} END END"
    )


def native_number(dialect: Dialect, x: str, t: str) -> str:
    """Return the number of a cell of a column of numbers."""
    return dialect.native.format(x) if dialect.native else parse_number(dialect, t, "1234.5")


class Layers:
    """Named expressions, in layers that may use the names of earlier ones."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.named: list[dict[str, str]] = [{} for _ in range(GROUPS + 1)]

    def with_carried(self, total: str) -> list[list[str]]:
        """Return what the layers select: their own expressions, and the earlier names that later ones need."""
        names, found = re.compile(rf"\b{self.prefix}[a-z]+[0-9_]+\b"), []
        needed = set(names.findall(total))
        for n in range(len(self.named) - 1, -1, -1):
            earlier = [name for layer in self.named[:n] for name in layer if name in needed]
            own = [f"{expression} AS {name}" for name, expression in self.named[n].items() if name in needed]
            found += [earlier + own] if own else []
            needed.update(*(names.findall(expression) for expression in self.named[n].values()))
        return found[::-1]

    def add(self, layer: int, name: str, expression: str) -> str:
        """Add an expression to a layer; return what it is called."""
        self.named[layer][self.prefix + name] = expression
        return self.prefix + name


def value_of(dialect: Dialect, layers: Layers, x: str, t: str, column: Column, part: Part, k: int, j: int) -> str:
    """Return a cell as a number or a level, NULL if it is missing or cannot be read."""
    if column.kind == "category":
        return t
    if column.kind == "boolean":
        yes, no = (
            listed(dialect, words) for words in zip(*BOOLEANS, ("1", "0"), ("1.0", "0.0"), strict=True)
        )  # numbers of databases may have a point
        return layers.add(1, f"v{j}", f"CASE WHEN LOWER({t}) IN {yes} THEN 1 WHEN LOWER({t}) IN {no} THEN 0 END")
    if column.kind == "date":
        return layers.add(8, f"v{j}", parse_date(dialect, layers, t, column, part, k))
    if column.form == TIME_FORM:
        return layers.add(1, f"v{j}", parse_clock(dialect, t))
    s, of_text, is_share = tidied(dialect, t), dialect.is_text.format(x), column.form.endswith("%")
    if dialect.name not in WITHOUT_TRUTH and not is_share:  # a truth value is 1 or 0, as a table of Arrow has it
        truth = f"CASE {t} WHEN 'true' THEN '1' ELSE '0' END"
        s = f"CASE WHEN LOWER({t}) IN ('true', 'false') AND NOT ({of_text}) THEN {truth} ELSE {s} END"
    s = layers.add(1, f"s{k}", s)
    value = parse_number(dialect, s, column.form)
    if not is_share and (column.form != "1234.5" or dialect.native):
        native = native_number(dialect, x, s)
        value = f"CASE WHEN {t} IS NULL THEN NULL WHEN {of_text} THEN {value} ELSE {native} END"
        n = layers.add(2, f"n{k}", value)
        value = f"CASE WHEN ABS({n}) <= {sys.float_info.max!r} THEN {n} END"
    return layers.add(3, f"v{j}", value)


def tidied(dialect: Dialect, t: str) -> str:
    """Return a text with plain blanks and minus signs."""
    blanks = ((literal(dialect, blank), "' '") for blank in BLANK[1:-1])
    return replaced(t, *blanks, (literal(dialect, MINUS), "'-'"))


def parse_number(dialect: Dialect, s: str, form: str) -> str:
    """Return a tidied text as a number, NULL if it has another form."""
    sign, thousands, decimal = number_form(form)
    marks = [(literal(dialect, mark), "''") for mark in (sign, "(", ")", thousands, " ") if mark]
    plain = replaced(s, *marks, *([(literal(dialect, decimal), "'.'")] if decimal != "." else []))
    valid = f"LENGTH({s}) <= {LONGEST}"
    if dialect.matches:
        pattern = number_pattern(sign, thousands, decimal, EXPONENT)
        pattern = literal(dialect, f"^({pattern}|{LARGE})$" if form == "1234.5" else f"^{pattern}$")
        valid += f" AND {dialect.matches.format(s, pattern=pattern)}"
    else:
        valid += f" AND {_matches_number(s, sign, thousands, decimal)}"
    return f"CASE WHEN {valid} THEN CASE WHEN {s} LIKE '%(%' THEN -1 ELSE 1 END * {dialect.number.format(plain)} END"


def _matches_number(s: str, sign: str, thousands: str, decimal: str) -> str:
    """Return whether a text is a number of a form, in SQLite.

    Digits become 0, and a run of them one; then an exponent becomes E, a currency S, thousands D, and a number N.
    The letters of the text are small by then, and it has no control characters, so that no text looks like this.
    """
    dialect = DIALECTS["sqlite"]
    quoted = functools.partial(literal, dialect)
    odd = "".join(c for c in (sign + thousands) if not c.isascii())
    steps = [(quoted(sign), "CHAR(3)")] if sign else []
    text = f"LOWER({replaced(s, *steps)})"
    steps = [("CHAR(3)", "'S'"), *2 * [("' S'", "'S'"), ("'S '", "'S'")]] if sign else []
    steps += [(f"'{digit}'", "'0'") for digit in range(1, 10)]
    if thousands:
        steps += [(quoted(f"{thousands}000"), "'T'"), *4 * [("'TT'", "'T'")]]
        steps += [("'000T'", "'D'"), ("'00T'", "'D'"), ("'0T'", "'D'")]
    steps += [("'0'", "CHAR(1, 2)"), ("CHAR(2, 1)", "''"), ("CHAR(1, 2)", "'0'")]
    if not thousands and decimal == ".":
        steps += [("'e-0'", "'E'"), ("'e+0'", "'E'"), ("'e0'", "'E'")]
    for whole in ("0", "D") if thousands else ("0",):
        steps += [(quoted(f"{whole}{decimal}0"), "'N'"), (quoted(f"{whole}{decimal}"), "'N'")]
    steps += [(quoted(f"{decimal}0"), "'N'"), ("'0'", "'N'"), ("'D'", "'N'"), ("'NE'", "'N'")]
    bodies = ["N", "SN", "NS", "SNS"][sign == "%" : 4 if sign else 1]
    words = [f"{minus}{body}" for body in bodies for minus in ("", "-", "+")] + [f"({body})" for body in bodies]
    words += ["S-N", "S+N", "S-NS", "S+NS", "S(N)", "S(NS)", "S( N)", "S( NS)"] if sign else []
    found = f"{rewritten(text, steps)} IN {listed(dialect, words)}"
    found += f" AND {s} NOT GLOB {quoted(f'*[^ -~{odd}]*')}"
    if thousands:  # the first of which does not follow a 0
        found += f" AND LTRIM({s}, {quoted('-+( ' + sign)}) NOT GLOB {quoted(f'0*[{thousands}][0-9]*')}"
    return found


# Dates


def before(dialect: Dialect, x: str, c: str) -> str:
    """Return the part of a text before the first of a mark; all of it if it has none."""
    return f"SUBSTR({x}, 1, {_place(dialect, x, c)} - 1)"


def after(dialect: Dialect, x: str, c: str) -> str:
    """Return the part of a text after the first of a mark."""
    return f"SUBSTR({x}, {_place(dialect, x, c)} + {len(c)})"


def _place(dialect: Dialect, x: str, c: str) -> str:
    return dialect.find.format(dialect.join.format(x, other=f"'{c}'"), c=c)


def parse_date(dialect: Dialect, layers: Layers, t: str, column: Column, part: Part, k: int) -> str:
    """Return the age of the date of a cell in days, or a part of it, counted from 0; dates of types are ISO 8601."""
    forms = dict.fromkeys((ISO, column.form or ISO))
    found = [_fields(dialect, layers, t, form, f"{k}_{n}") for n, form in enumerate(forms)]
    cases = " ".join(f"WHEN {valid} THEN {n}" for n, (valid, _) in enumerate(found))
    form = layers.add(4, f"form{k}", f"CASE {cases} END")
    y, m, d, time = (
        layers.add(
            5, f"{c}{k}", f"CASE {form} {' '.join(f'WHEN {n} THEN {each[c]}' for n, (_, each) in enumerate(found))} END"
        )
        for c in ("y", "m", "d", "time")
    )
    seconds = layers.add(6, f"c{k}", f"CASE WHEN {_is_time(dialect, time)} THEN {_seconds(dialect, time)} END")
    days = f"CASE WHEN {_exists(dialect, y, m, d)} AND {seconds} IS NOT NULL THEN {_days(dialect, y, m, d)} END"
    days = layers.add(7, f"e{k}", days)  # since 1 March of the year 0
    if not part.of_date:  # without whole numbers, which may be too large
        latest = column.latest + DAYS_TO_1970 * SECONDS
        return f"({latest!r}e0 - ({SECONDS}e0 * {days} + {seconds})) / {SECONDS}e0"
    if part.of_date == "weekday":
        return f"{days} + 2 - 7 * {dialect.divide.format(f'({days} + 2)', by=7)}"
    value = f"{m} - 1" if part.of_date == "month" else dialect.divide.format(seconds, by=3600)
    return f"CASE WHEN {days} IS NOT NULL THEN {value} END"


def _fields(dialect: Dialect, layers: Layers, t: str, form: str, k: str) -> tuple[str, dict[str, str]]:
    """Return whether a text begins with a date of a form, and its year, month and day, and the time after it."""
    fields, valid, rest = {"d": "1"}, [], t
    for n, (letter, mark) in enumerate(re.findall("%(.)([^%]*)", form), 1):
        widths = [4] if letter == "Y" else [2] if letter == "y" or form == DIGITS_FORM else [1, 2]
        field, rest_of = before(dialect, rest, mark), after(dialect, rest, mark)
        if not mark and len(widths) == 1:
            field, rest_of = f"SUBSTR({rest}, 1, {widths[0]})", f"SUBSTR({rest}, {widths[0] + 1})"
        elif not mark:
            field = before(dialect, replaced(rest, ("'T'", "' '"), ("','", "' '")), " ")
            rest_of = f"SUBSTR({rest}, LENGTH({field}) + 1)"
        field, rest = layers.add(n, f"{letter.lower()}{k}", field), layers.add(n, f"rest{k}_{n}", rest_of)
        if letter == "b":
            months = [(name[:width], number) for number, name in enumerate(MONTHS, 1) for width in (3, 9)]
            cases = " ".join(f"WHEN '{name}' THEN {number}" for name, number in dict(months).items())
            fields["m"] = layers.add(n + 1, f"m{k}", f"CASE LOWER({field}) {cases} END")
            valid.append(f"{fields['m']} IS NOT NULL")
        else:
            fields[letter.lower()] = dialect.whole.format(field)
            valid.append(_is_digits(dialect, field, widths))
        if letter == "y":
            fields["y"] += f" + CASE WHEN {field} < '69' THEN 2000 ELSE 1900 END"
    first = f"SUBSTR({rest}, 1, 1)"
    fields["time"] = (
        f"REPLACE(CASE WHEN {rest} = '' THEN '' WHEN {first} = 'T' AND {rest} <> 'T' THEN SUBSTR({rest}, 2) "
        f"WHEN {first} = ' ' OR SUBSTR({rest}, 1, 2) = ', ' THEN LTRIM(SUBSTR({rest}, 2)) END, 'UTC', 'Z')"
    )
    return " AND ".join(valid), fields


def _is_digits(dialect: Dialect, x: str, widths: Sequence[int]) -> str:
    """Return whether a text has digits alone, as many as one of the widths."""
    if dialect.matches:
        return dialect.matches.format(x, pattern=literal(dialect, f"^[0-9]{{{widths[0]},{widths[-1]}}}$"))
    return f"{zeros(x)} IN {listed(dialect, ('0' * width for width in widths))}"


def _exists(dialect: Dialect, y: str, m: str, d: str) -> str:
    """Return whether there is such a day."""
    fours, hundreds = (dialect.divide.format(y, by=by) for by in (4, 100))
    leap = f"{y} = 4 * {fours} AND ({y} <> 100 * {hundreds} OR {y} = 400 * {dialect.divide.format(y, by=400)})"
    last = f"CASE WHEN {m} IN (4, 6, 9, 11) THEN 30 WHEN {m} <> 2 THEN 31 WHEN {leap} THEN 29 ELSE 28 END"
    return f"{y} >= 1 AND {m} BETWEEN 1 AND 12 AND {d} BETWEEN 1 AND {last}"


def _days(dialect: Dialect, y: str, m: str, d: str) -> str:
    """Return the days since 1 March of the year 0: years begin in March, and end with the leap day."""
    march = f"({y} - CASE WHEN {m} <= 2 THEN 1 ELSE 0 END)"
    fours, hundreds, cycles = (dialect.divide.format(march, by=by) for by in (4, 100, 400))
    months = " ".join(f"WHEN {month} THEN {days}" for month, days in enumerate(BEFORE_MONTH, 1))
    return f"365 * {march} + {fours} - {hundreds} + {cycles} + CASE {m} {months} END + {d} - 1"


def parse_clock(dialect: Dialect, t: str) -> str:
    """Return a time of day as hours, NULL if it is none."""
    return f"CASE WHEN {_is_time(dialect, t, zone='')} THEN ({_seconds(dialect, t)}) / 3600e0 END"


def _seconds(dialect: Dialect, time: str) -> str:
    """Return a time of day such as 13:05:30 in seconds; 0 for an empty one."""
    rest = after(dialect, time, ":")
    whole = dialect.whole.format
    second = f"CASE WHEN SUBSTR({rest}, 3, 1) = ':' THEN {whole(f'SUBSTR({rest}, 4, 2)')} ELSE 0 END"
    seconds = f"3600 * {whole(before(dialect, time, ':'))} + 60 * {whole(f'SUBSTR({rest}, 1, 2)')} + {second}"
    return f"CASE WHEN {time} = '' THEN 0 ELSE {seconds} END"


def _is_time(dialect: Dialect, time: str, zone: str = ZONE) -> str:
    """Return whether a text is empty or a time of day, perhaps with a zone."""
    if dialect.matches:
        return dialect.matches.format(time, pattern=literal(dialect, f"^({CLOCK}{zone})?$"))
    rest = f"LTRIM({time}, '0123456789:.')"
    clock = f"SUBSTR({time}, 1, LENGTH({time}) - LENGTH({rest}))"
    whole, fraction = before(dialect, clock, "."), after(dialect, clock, ".")
    zones = ["", "Z", " Z", *(f"{sign}00{minutes}" for sign in ("+", "-", " +", " -") for minutes in ("", "00", ":00"))]
    return (
        f"({time} = '' OR {zeros(rest)} IN {listed(dialect, zones if zone else [''])} "
        f"AND {zeros(whole)} IN ('0:00', '00:00', '0:00:00', '00:00:00') AND {clock} NOT GLOB '*:[6-9]*' "
        f"AND (LENGTH({before(dialect, clock, ':')}) = 1 OR {clock} < '24') "
        f"AND ({clock} NOT GLOB '*.*' OR {whole} GLOB '*:*:*' AND {fraction} GLOB '[0-9]*' "
        f"AND {fraction} NOT GLOB '*.*'))"
    )


# The score


def export_sql(
    model: Any, dialect: str = "postgres", table: str | Sequence[str] | None = None, keep: Sequence[str] | None = None
) -> str:
    """Return the score of a fitted model in SQL, over the columns of its raw table.

    Parameters
    ----------
    model : estimator
        A fitted `TableClassifier`, a linear classifier of aucmax after a `TableEncoder`, or one that was fitted to a
        frame of numbers.
    dialect : {"postgres", "duckdb", "sqlite", "mysql", "bigquery", "snowflake", "spark"}, default="postgres"
        The database.
    table : str or sequence of str, default=None
        The table to score, or its schema and its name: a SELECT statement is returned. By default, an
        expression is; bigquery, snowflake and spark need a statement.
    keep : list of str, default=None
        The columns that the statement has before the score; by default, those that the model was fitted with as `id=`.

    Returns
    -------
    sql : str
        `decision_function` of each row, NULL for a row with a cell that the model would refuse.

    Notes
    -----
    Every column is cast to text and read as the model reads text. It may be of a type of text, numbers or dates.

    Examples
    --------
    >>> import pandas as pd
    >>> from aucmax import TableClassifier, export_sql
    >>> X = pd.DataFrame({"paid": ["Yes", "No", "n/a"] * 20})
    >>> clf = TableClassifier("curves", cv=0).fit(X, [1, 0, 0] * 18 + [0, 1, 1] * 2)
    >>> print(export_sql(clf, "duckdb", table="loans")[:43])
    -- score of a TableClassifier, aucmax 0.1.0
    """
    return to_sql(make_formula(model), dialect, table, keep)


class Cell(NamedTuple):
    """A column of the codes: the text of its cell, NULL if it is missing, and its value, NULL if there is none."""

    text: str
    value: str


def to_sql(
    formula: Formula,
    dialect: str = "postgres",
    table: str | Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
) -> str:
    """Return a formula as an expression, or as a statement about a table."""
    target, reading = find_dialect(dialect), formula.reading
    if table is None and keep is not None:
        raise ArgumentError("{keep=} names columns of a statement: give {table=}, too.")
    if table is None and dialect in STATEMENTS_ONLY:
        raise ArgumentError(
            f"{{dialect={dialect!r}}} needs {{table=}}: an expression is a subquery about the row around it, which "
            f"{dialect} may refuse."
        )
    kept = [column.name for column in reading.columns if column.kind == "identifier"] if keep is None else [*keep]
    source = [table] if isinstance(table, str) else [*(table or [])]
    prefix, names = "", [*kept, *source, *(column.name for column in reading.columns)]
    while any(re.fullmatch(f"{prefix}([a-z]+[0-9_]+|score)", name, re.IGNORECASE) for name in names):
        prefix += "_"
    layers = Layers(prefix)
    cells = _cells(target, formula, layers)
    summands = [f"{LINE}{_summand(target, reading, each, cells, layers)}" for each in formula.summands]
    total = f"  {amount_of(formula.base)}{''.join(summands)}"
    no_key = ["no column tells the rows apart, and their order may change: name a key in keep="]
    header = "".join(f"-- {line}\n" for line in [*formula.header, *(no_key if source and not kept else [])])
    others = "".join(f"{identifier(target, name)}, " for name in kept) if source else ""
    rows, ctes = ".".join(identifier(target, each) for each in source), []
    selected, most = layers.with_carried(total), MOST_SELECTED.get(dialect, math.inf)
    if (widest := max(map(len, selected), default=0) + len(kept)) > most:
        raise ValueError(f"{dialect} selects at most {most:,} columns, and the SQL of this model has {widest:,}.")
    for n, layer in enumerate(selected):
        columns = ",".join(f"\n    {expression}" for expression in layer)
        origin = f"{LINE}FROM {rows}" if rows else ""
        rows = f"{prefix}l{n}"
        ctes.append(f"{rows} {target.cte} (\n  SELECT {others}{columns}{origin}\n)")
    before = f"WITH {', '.join(ctes)}\n" if ctes else ""  # a formula may be its base alone
    if not source:
        return f"{header}(\n{before}SELECT\n{total}" + (f"\nFROM {rows}\n)" if ctes else "\n)")
    return f"{header}{before}SELECT {others}\n{total}\n  AS {prefix}score\nFROM {rows}"


def _cells(dialect: Dialect, formula: Formula, layers: Layers) -> dict[int, Cell]:
    """Return the cells of the columns that a formula needs, whose expressions are added to the layers."""
    cells = {}
    for j, k, column, part in formula.parts:
        raw = identifier(dialect, column.name)
        t = layers.add(0, f"t{k}", text_of(dialect, raw, column, formula.reading.na_values))
        x = layers.add(0, f"x{k}", raw)
        cells[j] = Cell(t, value_of(dialect, layers, x, t, column, part, k, j))
    return cells


def _summand(dialect: Dialect, reading: Reading, summand: Cases | Slope, cells: dict[int, Cell], layers: Layers) -> str:
    """Return a summand, NULL if a cell cannot be read."""
    comment = f"-- {one_line(summand.name)}{LINE}+ "
    if isinstance(summand, Slope):
        text, value = cells[summand.place]
        product = f"{amount_of(summand.weight)} * {value}"
        if summand.absent is None:
            return comment + product
        return f"{comment}CASE WHEN {text} IS NULL THEN {amount_of(summand.absent)} ELSE {product} END"
    sides: list[dict[str, int]] = [{} for _ in summand.places]  # the conditions of each column, with their numbers
    numbers = []
    for values, _ in summand.cases:
        found = [
            condition(dialect, each, cells[j], reading.parts[j]) for each, j in zip(values, summand.places, strict=True)
        ]
        numbers.append([side.setdefault(each, len(side)) for side, each in zip(sides, found, strict=True)])
    amounts = [amount_of(amount) for _, amount in summand.cases]
    if len(sides) == 1:  # each condition has its own amount
        return comment + case(cells[summand.places[0]], sides[0], amounts, "0")
    groups = []
    for side, j in zip(sides, summand.places, strict=True):
        code = case(cells[j], side, map(str, range(len(side))), str(len(side)))
        known = next((name for name, expression in layers.named[GROUPS].items() if expression == code), None)
        groups.append(known or layers.add(GROUPS, f"g{len(layers.named[GROUPS])}", code))
    a, b = groups
    rows: dict[int, str] = {}
    for (i, k), amount in zip(numbers, amounts, strict=True):
        rows[i] = f"{rows.get(i, '')} WHEN {k} THEN {amount}"
    whens = [f"WHEN {i} THEN CASE {b}{row} ELSE 0 END" for i, row in rows.items()]
    lines = f"{LINE}  ".join([f"CASE {a}", *whens, "ELSE 0"])
    return f"{comment}CASE WHEN {a} + {b} IS NOT NULL THEN {lines}{LINE}END END"


def case(cell: Cell, conditions: Iterable[str], values: Iterable[str], other: str) -> str:
    """Return the value of the condition that a cell satisfies, NULL if it cannot be read."""
    whens = [f"WHEN {condition} THEN {value}" for condition, value in zip(conditions, values, strict=True)]
    if cell.value != cell.text:
        whens.insert(0, f"WHEN {cell.text} IS NOT NULL AND {cell.value} IS NULL THEN NULL")
    lines = f"{LINE}  ".join(["CASE", *whens, f"ELSE {other}"])
    return f"{lines}{LINE}END"


def condition(dialect: Dialect, values: Values, cell: Cell, part: Part) -> str:
    """Return the condition that a cell has one of these values."""
    v, found = cell.value, []
    if values.low == values.low:
        borders = [(">", values.low)] * (values.low > -math.inf) + [("<=", values.high)] * (values.high < math.inf)
        found.append(" AND ".join(f"{v} {sign} {amount_of(border)}" for sign, border in borders) or f"{v} IS NOT NULL")
    for word, levels in (("IN", values.levels), ("NOT IN", values.known)):
        if levels and part.of_date:
            found.append(f"{v} {word} ({', '.join(str(LABELS[part.of_date].index(level)) for level in levels)})")
        elif levels:
            found.append(f"{v} {word} {listed(dialect, levels)}")
    if values.known is not None and not values.known:
        found.append(f"{v} IS NOT NULL")
    if values.missing:
        found.append(f"{cell.text} IS NULL")
    return f"({' OR '.join(found)})" if len(found) > 1 else found[0]

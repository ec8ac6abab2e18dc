"""Sizes in bytes as people write them."""


def format_bytes(n: float) -> str:
    """Return a number of bytes as text.

    Examples
    --------
    >>> from aucmax.cli.byte_sizes import format_bytes
    >>> format_bytes(2_500_000)
    '2.5 MB'
    """
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while n >= 1000 and len(units) > 1:
        n, units = n / 1000, units[1:]
    return f"{n:.3g} {units[0]}"


def parse_bytes(text: str) -> int:
    """Return the number of bytes of a text such as 2GB or 500 MiB.

    Examples
    --------
    >>> from aucmax.cli.byte_sizes import parse_bytes
    >>> parse_bytes("2GB"), parse_bytes("1.5 GiB"), parse_bytes("300000")
    (2000000000, 1610612736, 300000)
    """
    units = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12}
    units |= {"tb": 10**12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
    number = text.strip().rstrip("bBkKmMgGtTiI ")
    unit = text.strip()[len(number) :].strip().lower()
    try:
        n = float(number) * units[unit]
        if not 0 < n < 1 << 60:
            raise ValueError
    except (KeyError, ValueError):
        raise ValueError(f"--memory takes a size such as 2GB or 500MB, got {text!r}.") from None
    return int(n)

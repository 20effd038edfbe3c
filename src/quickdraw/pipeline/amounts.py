"""How amounts are said to people: so many of something, how long, how much."""

from __future__ import annotations

KB, MB, GB = 1e3, 1e6, 1e9


def counted(number: int, noun: str) -> str:
    """`1 file`, `2,000 files`; a noun that only takes an s."""
    return f"{number:,} {plural(noun, number)}"


def plural(noun: str, number: int) -> str:
    """The noun as it is said of so many."""
    return noun if number == 1 else f"{noun}s"


def duration(seconds: float) -> str:
    """`15.6 s`, `21 min 5 s`, `3 h 12 min`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest_s = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest_s} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def size(amount: float) -> str:
    """Bytes: `950 kB`, `20.3 MB`, `1.5 GB`; thousands are of ten, as disks are sold."""
    if amount < 0.9995 * MB:
        return f"{amount / KB:.0f} kB"
    return f"{amount / MB:.1f} MB" if amount < 0.9995 * GB else f"{amount / GB:,.1f} GB"


def some(names: list[str], most: int = 3) -> str:
    """`a, b, c and 37 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")

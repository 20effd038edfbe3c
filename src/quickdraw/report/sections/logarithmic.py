"""Logarithmic axes in a page's own type: plain numbers, for matplotlib writes powers in a language of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plain_numbers(axes: Axes) -> None:
    """Ticks of a logarithmic y axis as 0.1, 1, 10, 1,000; between powers of ten only where there are few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_ylim()
    few = high / max(low, 1e-300) < 100
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())

"""Plots as SVG that belongs to a page: its colours are the page's, its text is text, and its bytes are always the same.

Matplotlib is used without pyplot, which keeps figures and settings for a whole process. Colours below are stand-ins:
`drawing` puts the page's CSS variables in their place, so that a plot follows light and dark like the text around it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from quickdraw.report.parts import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, PAPER, PANEL, LINE, ACCENT, WARN = (f"#0a0b{number:02x}" for number in range(1, 8))
SERIES: Final[tuple[str, ...]] = tuple(f"#0a0c{number:02x}" for number in range(1, 7))
CUBES: Final[dict[str, str]] = {
    colour: f"#0a0d{number:02x}" for number, colour in enumerate(("red", "green", "blue", "purple"), 1)
}
VARIABLES: Final[dict[str, str]] = {
    **dict(zip((INK, FAINT, PAPER, PANEL, LINE, ACCENT, WARN),
               ("ink", "faint", "paper", "panel", "line", "accent", "warn"), strict=True)),
    **{colour: f"s{number}" for number, colour in enumerate(SERIES, 1)},
    **{colour: name for name, colour in CUBES.items()},
    "#000000": "ink",
}  # fmt: skip
FIRST: Final[dict[str, int]] = {"train": 0, "val": 1}  # split -> its place in SERIES, whatever other splits there are

TEXT_PT: Final = 8.0
TITLE_PT: Final = 9.0  # nothing is larger
SETTINGS: Final[Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a name may hold a dollar
    "axes.formatter.use_mathtext": False,
    "axes.formatter.useoffset": False,
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
}
_LONG_NUMBER: Final = re.compile(r"-?\d+\.\d{3,}")
_NUMBERS: Final = re.compile(r' (?:d|x|y|width|height|transform|points)="[^"]*"')
_FONT: Final = re.compile(r"font-family: [^;\"]*;? ?")
_REFERENCE: Final = re.compile(r'(?:url\(#|href="#)([^")]+)')
_VIEW_BOX: Final = re.compile(r'viewBox="([^"]*)"')


def colour_of(split: str, splits: Iterable[str] = ()) -> str:
    """The colour a split has in every plot: train's, val's, or the next free one in the order of the page's `splits`.

    Without `splits` it goes by the name alone, and two others may have the same.
    """
    if split in FIRST:
        return SERIES[FIRST[split]]
    others = [name for name in splits if name not in FIRST]
    place = others.index(split) if split in others else 0 if split == "eval" else crc32(split.encode())
    return SERIES[len(FIRST) + place % (len(SERIES) - len(FIRST))]


@contextmanager
def own_settings() -> Iterator[None]:
    """Matplotlib's defaults and our settings while something is drawn, whatever a matplotlibrc of the user's says."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        yield


def sheet(
    rows: int = 1, columns: int = 1, *, width_in: float = 9.0, height_in: float = 3.0
) -> tuple[Figure, npt.NDArray[Any]]:
    """A figure without ground and its axes `(rows, columns)`, to be drawn on and handed to `drawing`."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with own_settings():
        figure = Figure(figsize=(width_in, height_in), layout="constrained", facecolor="none")
        FigureCanvasSVG(figure)
        grid: npt.NDArray[Any] = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat:
            _dress(axes)
    return figure, grid


def _dress(axes: Axes) -> None:
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(LINE)
    axes.tick_params(which="both", color=LINE, labelcolor=FAINT, labelsize=TEXT_PT, length=3)
    axes.grid(True, color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_fontsize(TEXT_PT)
        axis.label.set_color(FAINT)


def drawing(figure: Figure, *, name: str, caption: str, alt: str) -> Drawing:
    """The figure as SVG of `viewBox` alone, as wide as its place; `name` also tells its ids from those of others."""
    from matplotlib import rc_context
    from matplotlib.legend import Legend
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
        text.set_fontsize(min(text.get_fontsize(), TITLE_PT))
    for legend in figure.findobj(Legend):
        assert isinstance(legend, Legend)
        legend.set_frame_on(False)
    written = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with own_settings(), rc_context({"svg.hashsalt": name}), warnings.catch_warnings():
        # The page's font shows what matplotlib's own cannot measure.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(written, format="svg", metadata=nothing)
    return Drawing(name=name, caption=caption, alt=alt, svg=_belonging(written.getvalue(), name, alt))


def _belonging(svg: str, name: str, alt: str) -> str:
    """Matplotlib's SVG as a part of a page: no prolog, style sheet, metadata or unused ids, and the page's colours."""
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<style .*?</style>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL).replace("xlink:href=", "href=")
    used = set(_REFERENCE.findall(body))
    prefix = "".join(each if each.isascii() and each.isalnum() else f"-{ord(each):x}-" for each in name)

    def tag(match: re.Match[str]) -> str:
        return _own(match.group(), used, prefix)

    body = re.sub(r"<[^>]*>", tag, body)
    body = re.sub(r">\s+<", "><", body.strip())
    box = _VIEW_BOX.search(svg)
    assert box is not None
    style = "fill: var(--ink); stroke-linejoin: round; stroke-linecap: butt"
    label = escape(alt, quote=True)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="{box[1]}" role="img"'
    return f'{head} aria-label="{label}" style="{style}">{body}'


def _own(tag: str, used: set[str], prefix: str) -> str:
    """A tag with ids, references, colours, fonts and numbers as a page wants them; what stands between tags is text."""
    tag = re.sub(r' id="([^"]*)"', lambda found: f' id="{prefix}-{found[1]}"' if found[1] in used else "", tag)
    tag = _REFERENCE.sub(lambda found: found[0].replace(f"#{found[1]}", f"#{prefix}-{found[1]}"), tag)
    tag = re.sub(r"#0[0a][0-9a-f]{4}", lambda found: _variable(found[0]), tag) if "style=" in tag else tag
    tag = _FONT.sub("", tag)
    tag = _NUMBERS.sub(lambda found: " ".join(_LONG_NUMBER.sub(_rounded, found[0]).split(" \n")), tag)
    return re.sub(r' transform="rotate\(-?0 [^"]*"', "", tag).replace(' \n"', '"')


def _variable(colour: str) -> str:
    return f"var(--{VARIABLES[colour]})" if colour in VARIABLES else colour


def _rounded(number: re.Match[str]) -> str:
    return np.format_float_positional(float(number[0]), precision=2, trim="-")

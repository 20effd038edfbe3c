import re
import subprocess
import sys
from typing import Any
from xml.dom import minidom

import numpy as np

from quickdraw.report.parts import Drawing
from quickdraw.report.plots import CUBES, INK, SERIES, TITLE_PT, colour_of, drawing, sheet

MAKE = """
import sys
sys.path.insert(0, {folder!r})
from test_plots import plot
sys.stdout.write(plot("same").svg)
assert "matplotlib.pyplot" not in sys.modules
"""


def plot(name: str) -> Drawing:
    figure, grid = sheet(1, 2, height_in=2)
    left, right = grid[0]
    left.plot(np.arange(50), np.sin(np.arange(50)), color=SERIES[0], label="<train> $x$ & 字")
    left.fill_between([0, 50], 0, 1, color=CUBES["red"], alpha=0.3)
    left.set_xlabel("time [s]")
    left.set_title("0.123456 of #0a0b01", loc="left")
    left.legend()
    right.imshow(np.eye(4), aspect="auto")
    right.scatter([1, 2], [1, 2], color=INK)
    return drawing(figure, name=name, caption="", alt='a "sine"')


def test_a_plot_has_the_same_bytes_each_time_and_in_another_process_without_pyplot() -> None:
    first = plot("same")
    folder = __file__.rpartition("/")[0]
    other = subprocess.run(
        [sys.executable, "-c", MAKE.format(folder=folder)], capture_output=True, check=True, encoding="utf-8"
    )
    assert first == plot("same")
    assert other.stdout == first.svg


def test_a_plot_is_whole_and_fetches_nothing() -> None:
    svg = plot("a").svg
    root = minidom.parseString(svg).documentElement
    assert root is not None
    assert (root.tagName, root.getAttribute("viewBox")) == ("svg", "0 0 648 144")
    assert not root.hasAttribute("width")
    assert root.getAttribute("aria-label") == 'a "sine"'
    assert re.findall(r'[^"]*https?:[^"]*', svg) == ["http://www.w3.org/2000/svg"]
    hrefs = re.findall(r'href="([^"]{5})', svg)
    assert {each[0] for each in hrefs if each != "data:"} <= {"#"}
    assert not re.search("<style|<metadata|<!|font-family", svg)


def test_no_id_of_one_plot_is_in_another_and_each_is_used() -> None:
    found = {}
    for name in ("a", "b", "a/b", "a-b", "字", "a b"):
        svg = plot(name).svg
        ids = re.findall(r' id="([^"]*)"', svg)
        assert len(ids) == len(set(ids))
        assert set(ids) == set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
        found[name] = set(ids)
    assert len(set.union(*found.values())) == sum(map(len, found.values()))


def test_the_colours_are_those_of_the_page() -> None:
    svg = plot("a").svg
    styles = " ".join(re.findall('style="([^"]*)"', svg))
    assert not re.search("#[0-9a-f]{6}", styles)
    variables = set(re.findall(r"var\((--[a-z0-9]+)\)", styles))
    assert {"--ink", "--faint", "--line", "--s1", "--red"} <= variables


def test_text_stays_text_and_is_no_larger_than_a_title() -> None:
    document = minidom.parseString(plot("a").svg)
    shown: list[Any] = document.getElementsByTagName("text")
    texts = {"".join(str(node.data) for node in text.childNodes) for text in shown}
    assert {"<train> $x$ & 字", "0.123456 of #0a0b01", "time [s]"} <= texts
    sizes = re.findall(r"font-size: (\d+)px", plot("a").svg)
    assert max(map(int, sizes)) == TITLE_PT


def test_a_split_has_one_colour_and_no_two_splits_of_a_page_share_one() -> None:
    splits = ("train", "val", "eval_b", "eval_a", "eval", "test")
    colours = [colour_of(split, splits) for split in splits]
    assert colours == list(SERIES)
    assert colour_of("train") == SERIES[0]
    assert colour_of("val", ["val"]) == SERIES[1]
    assert colour_of("eval_x") == colour_of("eval_x") not in SERIES[:2]


def test_a_plot_leaves_matplotlib_as_it_was() -> None:
    import matplotlib

    def settings() -> dict[str, object]:
        return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}

    before = settings()
    plot("a")
    assert settings() == before

"""A compiled function in a notebook shows its stages as tabs, and text where there is no HTML."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import triptych as tt
from triptych import cute
from triptych.support.html_tabs import MOST_LINES, html_tabs


@tt.jit
def below(x: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        if x[i] < 3.0:  # <b>, &amp; and "quotes" are text
            x[i] = 3.0


class Reader(HTMLParser):
    """The elements that are open at the end, and the tags that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.read: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.read.append(tag)
        if tag not in ("input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_stage_is_a_tab_with_its_text() -> None:
    compiled = tt.compile(below, tt.example("Float32[:]"))
    shown = compiled._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == repr(compiled)
    page = shown["text/html"]
    assert re.findall(r"<label [^>]*>(.*?)</label>", page) == ["source", "rewritten", "MLIR", "LLVM IR", "assembly"]
    texts = [unescape(text) for text in re.findall(r"<pre [^>]*>(.*?)</pre>", page, re.DOTALL)]
    assert texts == [compiled.source, compiled.rewritten, compiled.mlir, compiled.llvm, compiled.asm]
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    assert set(reader.read) == {"div", "style", "code", "br", "input", "label", "pre"}
    assert page.count(" checked>") == 1


def test_two_functions_on_one_page_do_not_share_tabs() -> None:
    one, other = (set(re.findall(r'id="(.*?)"', html_tabs("f", {"source": "x", "MLIR": "y"}))) for _ in range(2))
    assert len(one) == len(other) == 2
    assert not one & other


def test_long_stages_are_shortened_and_empty_ones_left_out() -> None:
    page = html_tabs("f", {"source": "", "MLIR": "line\n" * (MOST_LINES + 3)})
    assert ">source<" not in page
    assert page.count("line\n") == MOST_LINES
    assert "… and 3 more lines" in page

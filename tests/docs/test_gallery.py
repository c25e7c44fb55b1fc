"""Pictures and counted figures of the site: small, well-formed, and what the simulator counts."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from docs.site import cards, gallery, gallery_figures
from docs.site.thumbnails import bars, cells
from triptych.layout import index_grid, make_layout
from triptych.objectstage.device_errors import MissingToolError

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 10_000


def test_pictures_of_the_cards_are_small() -> None:
    pictures = cards.pictures()
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert all(f":img-top: {place}\n" in index for place in pictures)
    assert len(pictures) == index.count(":img-top:") == 6
    for place, picture in pictures.items():
        assert len(picture) < MOST_BYTES, place
        assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_a_picture_paints_each_cell() -> None:
    picture = cells(index_grid(make_layout((4, 8), stride=(8, 1))), "a < b")
    assert picture.count("M") == 32
    assert "<title>a &lt; b</title>" in picture


def test_bars_show_what_is_wasted() -> None:
    assert bars("", [3, 1]).count("<path") == 1
    assert bars("", [3, 1], [0, 2]).count("<path") == 2


def test_each_kernel_of_the_gallery_has_a_picture_and_figures() -> None:
    pages, pictures = gallery.pages(ROOT), gallery.pictures(ROOT)
    for path in gallery.kernels(ROOT):
        page = pages[f"gallery/{path.stem}.md"]
        assert f"(thumbnails/{path.stem}.svg)" in page
        assert len(pictures[f"gallery/thumbnails/{path.stem}.svg"]) < MOST_BYTES
        assert "| instructions of warps |" in page or "No figures here: " in page
    assert "| bank conflicts | 992 |" in pages["gallery/transpose.md"]
    assert "bank conflicts" not in pages["gallery/gemm.md"].partition("## Stages")[0]
    assert ".visible .entry relu_kernel(" in pages["gallery/relu.md"]
    assert "gpu.func @relu_kernel(" in pages["gallery/relu.md"]


def test_a_page_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingToolError("libdevice is needed")

    monkeypatch.setattr(gallery_figures, "counted", missing)
    assert gallery_figures.figures(ROOT / "examples/kernels/relu.py") == "libdevice is needed"


def test_a_long_text_loses_its_middle() -> None:
    text = "\n".join(["begin", *map(str, range(100)), "end"])
    excerpt = gallery_figures.excerpt(text, "begin", "end").splitlines()
    assert excerpt[0] == "begin"
    assert excerpt[-1] == "end"
    assert "... 42 lines" in excerpt

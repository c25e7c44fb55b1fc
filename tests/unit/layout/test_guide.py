"""The guide says what the code does."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

from triptych.support.config import override

GUIDES = Path(__file__).parents[3] / "docs" / "guides"


def test_every_example_of_the_guide() -> None:
    with override(error_help="off"):  # doctest takes notes of an error for its message
        found = doctest.testfile(
            str(GUIDES / "layouts.md"), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS
        )
    assert found.attempted > 40
    assert found.failed == 0


def test_every_picture_of_a_guide_is_what_the_code_draws() -> None:
    """Run docs/guides/draw_layouts.py to draw them again."""
    spec = importlib.util.spec_from_file_location("draw_layouts", GUIDES / "draw_layouts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = "".join(guide.read_text() for guide in GUIDES.glob("*.md"))
    for name, svg in module.pictures().items():
        assert (GUIDES / "images" / name).read_text() == svg + "\n", name
        assert f"images/{name}" in text, name

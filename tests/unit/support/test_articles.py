"""Articles before type names."""

from __future__ import annotations

import pytest

from triptych.support.articles import with_article


@pytest.mark.parametrize("text", ["an Int32", "a Uint8", "a Float32", "an int", "a str", "an object", "an Any"])
def test_article(text: str) -> None:
    assert with_article(text.partition(" ")[2]) == text

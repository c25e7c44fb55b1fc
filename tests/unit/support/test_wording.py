"""Articles before type names, and guesses that help or stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.support.wording import did_you_mean, did_you_mean_file, nearest, with_article


@pytest.mark.parametrize("text", ["an Int32", "a Uint8", "a Float32", "an int", "a str", "an object", "an Any"])
def test_article(text: str) -> None:
    assert with_article(text.partition(" ")[2]) == text


def test_nearest_ignores_case() -> None:
    assert nearest("float32", ["Float32", "Int8"]) == "Float32"


def test_nothing_close_gives_no_guess() -> None:
    assert nearest("zzz", ["cpu"]) is None
    assert did_you_mean("zzz", ["cpu"]) == ""


def test_guess_is_a_sentence() -> None:
    assert did_you_mean("cpuu", ["cpu", "nvptx"]) == "did you mean 'cpu'?"


def test_a_file_beside_the_one_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "softmax.py").touch()
    assert did_you_mean_file(tmp_path / "softmx.py") == f"did you mean '{tmp_path}/softmax.py'?"
    assert did_you_mean_file(tmp_path / "nowhere" / "softmx.py") == ""
    assert did_you_mean_file(tmp_path / "softmax.py") == ""
    assert did_you_mean_file(tmp_path / "axpy.py") == ""

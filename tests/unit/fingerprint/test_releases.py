"""What counts as a release is what a distribution has installed, wherever it lies; what is read has a bound."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from triptych.fingerprint.guards import guards
from triptych.fingerprint.primitive_tokens import MOST_DEFINITIONS, TooMuchReadError
from triptych.fingerprint.releases import release
from triptych.fingerprint.tokens import Walk
from triptych.support.libraries import is_library_function


def installed(folder: Path, text: str = "def scaled(x):\n    return x * 2\n", metadata: bool = True) -> None:
    """A package `einops` in a folder, as `pip install --target` leaves it; or a user's module of that name."""
    package = folder / "einops"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text, encoding="utf-8")
    if metadata:
        info = folder / "einops-1.2.3.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: einops\nVersion: 1.2.3\n", encoding="utf-8")
        (info / "RECORD").write_text("einops/__init__.py,,\n", encoding="utf-8")


@pytest.mark.parametrize(("metadata", "pinned"), [(True, "einops 1.2.3"), (False, None)])
def test_a_distribution_makes_a_release_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metadata: bool, pinned: str | None
) -> None:
    """A user's own package may have the name of a library: an edit of it must be noticed."""
    installed(tmp_path / "unusual", metadata=metadata)
    monkeypatch.syspath_prepend(tmp_path / "unusual")
    library = importlib.import_module("einops")
    try:
        assert release("einops") == pinned
        assert is_library_function(library.scaled) is metadata
        walk = Walk()
        walk.value(library)
        assert len(list(walk.all_definitions())) == (0 if metadata else 2)
    finally:
        del sys.modules["einops"]


def test_a_library_that_is_not_on_the_list_is_read_up_to_a_bound() -> None:
    library = ModuleType("large_library")
    vars(library).update({f"Class{number}": type(f"Class{number}", (), {}) for number in range(MOST_DEFINITIONS + 9)})

    def handed_on() -> object:
        return library

    def named() -> object:
        return library.Class3

    with pytest.raises(TooMuchReadError, match="more than 4000 functions and classes") as caught:
        guards(FunctionType(handed_on.__code__, {}, closure=handed_on.__closure__))
    assert "used as a whole: large_library" in str(caught.value)
    assert len(guards(FunctionType(named.__code__, {}, closure=named.__closure__)).tests) < 30

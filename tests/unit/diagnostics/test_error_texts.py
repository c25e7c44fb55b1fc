"""Small mistakes around the language that Python's own words would leave unexplained."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.cute.tracing.errors import IncompleteOperationError
from triptych.diagnostics.likely_mistakes import MissingAttributeError
from triptych.ir.errors import MissingPackageError
from triptych.layout import LayoutError
from triptych.objectstage.errors import MissingViewError
from triptych.support.config import override


def test_compiled_function_without_an_attribute_names_the_nearest() -> None:
    compiled: Any = tt.compile(lambda n: n + 1, 1)
    with pytest.raises(MissingAttributeError, match="did you mean `opt_level`") as caught:
        compiled.optlevel  # noqa: B018 - the attribute is asked for
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)] == [
        "test_compiled_function_without_an_attribute_names_the_nearest"
    ]
    assert not hasattr(compiled, "launch")
    with pytest.raises(MissingViewError, match="ptx"):
        compiled.__ptx__  # noqa: B018 - the attribute is asked for


def test_module_for_torch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "compat.torch", "compat.torch_on_cpu.placement"):
        monkeypatch.delitem(sys.modules, f"triptych.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'triptych\[torch\]'"):
        import triptych.torch  # noqa: F401, PLC0415 - it is what is tested
    assert issubclass(MissingPackageError, ImportError)


class Half(cute.CopyOperation):
    """Lacks `emit`."""


def test_operation_of_ones_own_that_lacks_a_method_is_reported_which() -> None:
    incomplete: Any = Half
    with pytest.raises(IncompleteOperationError, match="without `emit`") as caught:
        incomplete()
    assert isinstance(caught.value, TypeError)
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 1


def test_error_of_the_algebra_that_ends_a_program_shows_no_frames_of_the_framework(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    with pytest.raises(LayoutError) as caught:
        cute.select(cute.make_layout((4, 8)), mode=[5])
    sys.excepthook(type(caught.value), caught.value, caught.value.__traceback__)
    shown = capsys.readouterr().err
    assert shown.count("File ") == 1
    assert "there is no such mode" in shown
    with override(full_traceback=True):
        sys.excepthook(type(caught.value), caught.value, caught.value.__traceback__)
    assert capsys.readouterr().err.count("File ") > 1


def test_errors_of_others_are_shown_as_ever(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    with pytest.raises(LayoutError):
        cute.make_layout((4, 8), stride=(1,))
    sys.excepthook(KeyError, KeyError("mine"), None)
    assert capsys.readouterr().err == "KeyError: 'mine'\n"

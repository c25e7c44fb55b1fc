"""Small mistakes around the language that Python's own words would leave unexplained."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.cute.errors import IncompleteOperationError
from triptych.ir.errors import MissingPackageError
from triptych.objectstage.errors import MissingViewError
from triptych.support.likely_mistakes import MissingAttributeError


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
    for name in ("torch", "compat.torch", "compat.torch_tensors", "compat.installed_torch"):
        monkeypatch.delitem(sys.modules, f"triptych.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'triptych\[torch\]'"):
        import triptych.torch  # noqa: F401, PLC0415 - it is what is tested
    assert issubclass(MissingPackageError, ImportError)


class Half(cute.CopyOperation):
    """Lacks `emit`."""


def test_operation_of_ones_own_that_lacks_a_method_is_told_which() -> None:
    incomplete: Any = Half
    with pytest.raises(IncompleteOperationError, match="without `emit`") as caught:
        incomplete()
    assert isinstance(caught.value, TypeError)
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 1

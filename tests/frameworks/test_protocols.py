"""What else libraries ask of a compiled function: to be a function of TVM FFI, and to be sent to another process."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.tensor_errors import ArgumentTensorTypeError
from triptych.objectstage.errors import CompiledFunctionPickleError

tvm_ffi: Any = pytest.importorskip("tvm_ffi")


@tt.jit
def double(x: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0


def test_tvm_ffi_takes_the_native_function() -> None:
    x = np.ones(4, np.float32)
    converted = tvm_ffi.convert(tt.compile(double, x))
    assert type(converted) is tvm_ffi.Function
    entered = []
    sys.setprofile(
        lambda frame, event, _: entered.append(frame.f_globals.get("__name__", "")) if event == "call" else None
    )
    converted(x)
    sys.setprofile(None)
    assert x.tolist() == [2.0] * 4
    assert not [name for name in entered if name.startswith(("triptych", "tests"))], "a call runs no Python of ours"
    with pytest.raises(ArgumentTensorTypeError):
        converted(x.astype(np.float64))


def test_a_compiled_function_is_not_pickled() -> None:
    with pytest.raises(CompiledFunctionPickleError) as raised:
        pickle.dumps(tt.compile(double, np.ones(4, np.float32)))
    assert raised.value.code == "TT0652"
    assert "the `@jit` function double" in raised.value.instead
    assert "export_to_c" in raised.value.instead

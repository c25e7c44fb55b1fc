"""PyTorch's names of element types, and its streams."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from triptych.metastage.trace.errors import OperandTypeError

torch: Any = pytest.importorskip("torch")
names: Any = pytest.importorskip("triptych.torch")


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (tt.Float32, "float32"),
        (tt.BFloat16, "bfloat16"),
        (tt.Boolean, "bool"),
        (tt.Uint8, "uint8"),
        (tt.Int64, "int64"),
        (tt.Float8E4M3FN, "float8_e4m3fn"),
        (tt.TFloat32, "float32"),
    ],
)
def test_dtype(dtype: Any, name: str) -> None:
    assert names.dtype(dtype) is getattr(torch, name)


def test_type_that_pytorch_lacks() -> None:
    with pytest.raises(OperandTypeError, match="Int128"):
        names.dtype(tt.Int128)


def test_streams_without_cuda() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is CUDA")
    assert int(names.current_stream()) == int(names.default_stream()) == 0

"""Objects that public programs replace when they are imported: the classes and functions that are really used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import compat, cute
from triptych.compat.errors import CudaCallError
from triptych.cute.runtime import from_dlpack
from triptych.hooks import REPLACED_VISITORS


@pytest.fixture(autouse=True)
def active() -> Iterator[None]:
    with compat.activated():
        yield


@pytest.fixture
def sliced(monkeypatch: pytest.MonkeyPatch) -> None:
    """`:` in coordinates means what None does, and a tensor has a method of the program's."""
    tensor = importlib.import_module("cutlass.cute.tensor")

    def coordinate(given: Any) -> Any:
        return tuple(None if isinstance(one, slice) else one for one in given) if isinstance(given, tuple) else given

    for kind in (tensor._Tensor, tensor.TensorSSA):
        original = kind.__getitem__

        def item(self: Any, coord: Any, *, loc: Any = None, ip: Any = None, original: Any = original) -> Any:
            return original(self, coordinate(coord), loc=loc, ip=ip)

        monkeypatch.setattr(kind, "__getitem__", item)
    stored = tensor._Tensor.__setitem__

    def set_item(self: Any, coord: Any, data: Any, *, loc: Any = None, ip: Any = None) -> None:
        stored(self, coordinate(coord), data, loc=loc, ip=ip)

    monkeypatch.setattr(tensor._Tensor, "__setitem__", set_item)

    def doubled(self: Any) -> Any:
        made = cute.make_rmem_tensor_like(self)
        made.store(self.load() * 2)
        return made

    monkeypatch.setattr(tensor._Tensor, "doubled", doubled, raising=False)


@cute.kernel
def _rows(x: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    row: Any = x[t, :]  # type: ignore[misc, unused-ignore]
    twice = row.doubled()
    both = twice.load()
    row[0] = twice[1]
    x[t, :][2] = both[3]  # type: ignore[misc, unused-ignore]


@cute.jit
def rows(x: cute.Tensor) -> None:
    _rows(x).launch(grid=1, block=4)


@pytest.mark.usefixtures("sliced")
def test_tensors_are_indexed_as_a_program_has_it() -> None:
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    expected = x.copy()
    expected[:, 0], expected[:, 2] = 2 * x[:, 1], 2 * x[:, 3]
    rows(from_dlpack(x))
    assert (x == expected).all()


def test_the_class_of_tensors_has_its_other_name() -> None:
    cutlass = importlib.import_module("cutlass.cute")
    assert cutlass._Tensor is cutlass.Tensor is importlib.import_module("cutlass.cute.tensor")._Tensor


def test_the_preprocessor_is_the_one_that_is_asked() -> None:
    preprocessor = importlib.import_module("cutlass.base_dsl.ast_preprocessor").DSLPreprocessor
    original = preprocessor.visit_If
    preprocessor.visit_If = lambda self, node: original(self, node)
    assert "visit_If" in REPLACED_VISITORS
    preprocessor.visit_If = original
    assert not REPLACED_VISITORS


def test_what_is_only_replaced_says_so_when_it_is_called() -> None:
    """Each is an attribute of a module by its whole path, as programs reach it after `import cutlass` alone."""
    cutlass: Any = importlib.import_module("cutlass")
    with pytest.raises(CudaCallError, match="loads a cubin itself"):
        cutlass.base_dsl.runtime.cuda.load_cubin_module_data(b"\x7fELF")
    with pytest.raises(CudaCallError, match="described to TVM FFI"):
        cutlass.cute._tvm_ffi_args_spec_converter._convert_single_arg(1, "x", None, None)
    spec = importlib.import_module("cutlass.base_dsl.tvm_ffi_builder").spec
    assert spec.ConstNone("x").name == "x"


def test_types_that_tvm_ffi_knows() -> None:
    tables = importlib.import_module("cutlass.cute._tvm_ffi_args_spec_converter")
    names = tables.NumericToTVMFFIDtype
    assert (names[tt.Float32], names[tt.BFloat16], names[tt.Boolean], names[tt.Uint8]) == (
        "float32",
        "bfloat16",
        "bool",
        "uint8",
    )
    assert tt.Float8E4M3FN not in tables.AcceptableNumericTypesForScalar


@pytest.mark.parametrize("module", ["base_dsl", "base_dsl.arch", "base_dsl.enums", "base_dsl.dsl"])
def test_a_program_asks_the_language_for_its_architecture(module: str) -> None:
    found = importlib.import_module(f"cutlass.{module}")
    cutlass: Any = importlib.import_module("cutlass")
    arch = cutlass.base_dsl.BaseDSL._get_dsl().get_arch_enum()
    assert arch in found.Arch
    assert arch >= found.Arch.sm_80

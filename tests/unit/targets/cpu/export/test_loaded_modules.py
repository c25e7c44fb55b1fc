"""Exported files loaded into Python again: object files, shared libraries, TVM FFI; what does not fit says so."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat import leniency
from triptych.cute.runtime import find_runtime_libraries, load_module, make_fake_compact_tensor, make_fake_stream
from triptych.diagnostics.runtime_errors import (
    ArgumentCountError,
    ArgumentTypeError,
    ExportedCallError,
    ExportedModuleError,
    MissingFunctionError,
)
from triptych.diagnostics.tensor_errors import ArgumentTensorError, ArgumentTensorTypeError, ReadOnlyTensorError
from triptych.ir import bindings
from triptych.objectstage.exports import ExportError
from triptych.targets.cpu.calling.scalars import SCALARS
from triptych.targets.cpu.export.loaded_modules import fits, number_cell, number_in
from triptych.workbench.commands.cli import main

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc links the exported objects")


@tt.jit
def shift(x: cute.Tensor, y: cute.Tensor, amount: tt.Float16, flag: tt.Boolean, where: object) -> None:
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + tt.Float32(amount) if flag else x[i, j]
    cute.printf("shifted {}", x.shape[0])


@tt.jit
def quotient(pair: tuple[tt.Int32, tt.Uint64]) -> tt.Uint64:
    return tt.Uint64(pair[0]) * tt.Uint64(2**62) // pair[1]


class _Stream:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("loaded")
    matrix = make_fake_compact_tensor(tt.Float32, (cute.sym_int(divisibility=2), cute.sym_int()), stride_order=(1, 0))
    compiled = tt.compile(shift, matrix, matrix, tt.Float16(1), True, make_fake_stream())
    compiled.export_to_c(made, "shift")
    compiled.export_to_c(made / "packed.o", function_name="packed")
    tt.compile(quotient, (tt.Int32(1), tt.Uint64(1))).export_to_c(made, "quotient_file", "quotient")
    return made


def matrices() -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    return x, np.zeros_like(x)


def check_shift(module: object, capfd: pytest.CaptureFixture[str]) -> None:
    x, y = matrices()
    getattr(module, "shift")(x, y, 0.5, flag=True, where=_Stream())  # noqa: B009 - it has no such attribute for checkers
    np.testing.assert_array_equal(y, x + np.float32(0.5))
    assert capfd.readouterr().out == "shifted 4\n"


def test_an_object_file_is_called_as_the_function_was(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check_shift(load_module(folder / "shift.o"), capfd)
    module = load_module(folder / "quotient_file.o")
    assert module.quotient((3, 1)) == 3 * 2**62
    assert module.quotient(pair=(3, 2**64 - 1)) == 0
    assert "quotient(pair[0]: Int32, pair[1]: Uint64)" in repr(module.quotient)
    with pytest.raises(ExportedCallError, match=r"by zero"):
        module.quotient((7, 0))


@needs_gcc
def test_a_shared_library_of_several_objects(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    library = folder / "all.so"
    objects = [str(folder / "shift.o"), str(folder / "quotient_file.o")]
    subprocess.run(["gcc", "-shared", "-o", str(library), *objects], check=True)
    module = load_module(library)
    check_shift(module, capfd)
    assert module.quotient((3, 2)) == 3 * 2**61


def test_arguments_that_do_not_fit(folder: Path) -> None:
    shifted = load_module(folder / "shift.o").shift
    x, y = matrices()
    rest = (1.0, True, _Stream())
    with pytest.raises(ArgumentTensorError, match=r"multiple of 2"):
        shifted(x[:3], y[:3], *rest)
    with pytest.raises(ArgumentTensorError, match="another stride"):
        shifted(x, np.asfortranarray(y), *rest)
    with pytest.raises(ArgumentTensorTypeError):
        shifted(x.astype(np.float64), y, *rest)
    for wrong in ((x, 3, *rest), (x, y, 1e6, True, _Stream()), (x, y, 1.0, 1, _Stream()), (x, y, 1.0, True, None)):
        with pytest.raises(ArgumentTypeError):
            shifted(*wrong)
    with pytest.raises(ArgumentCountError, match="x, y, amount, flag, where"):
        shifted(x, y)


def test_programs_for_the_public_dsl_pass_other_layouts_with_a_warning(folder: Path) -> None:
    shifted = load_module(folder / "shift.o").shift
    x, y = matrices()
    undo = leniency.install()
    try:
        with pytest.warns(RuntimeWarning, match="has another stride"):
            shifted(np.asfortranarray(x), y, 1.0, True, _Stream())
        with pytest.raises(ArgumentTensorError):  # its elements have holes
            shifted(np.zeros((4, 6), np.float32)[:, ::2], y, 1.0, True, _Stream())
    finally:
        undo()


def test_read_only_memory_is_refused_where_it_is_written(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shifted = load_module(folder / "shift.o").shift
    x, y = matrices()
    for array in (x, y):
        array.setflags(write=False)
    with pytest.raises(ReadOnlyTensorError, match="'y' is read-only") as told:
        shifted(x, y, 0.5, True, _Stream())
    assert told.value.code == "TT0643"
    assert not y.any()
    shifted(x, np.zeros_like(x), 0.5, True, _Stream())  # it only reads `x`
    assert capfd.readouterr().out == "shifted 4\n"


@pytest.mark.parametrize("name", ["quotient_file.o", "packed.o"])
def test_loading_again_and_again_leaves_nothing(folder: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Of keys of threads a process has 1024, and each object needs three."""
    x, y = matrices()

    def use() -> None:
        module = load_module(folder / name)
        if name == "packed.o":
            module.packed(x, y, 0.5, True, 0)
        else:
            assert module.quotient((3, 1)) == 3 * 2**62

    use()
    before = _kept_by_the_process()
    for _ in range(350):
        use()
    gc.collect()
    capfd.readouterr()
    assert all(now <= then for now, then in zip(_kept_by_the_process(), before, strict=True))


def _kept_by_the_process() -> tuple[int, int, int]:
    """The next key of threads, threads, and mappings of executable memory."""
    key, functions = ctypes.c_uint32(), ctypes.CDLL(None)
    assert not functions.pthread_key_create(ctypes.byref(key), None)
    assert not functions.pthread_key_delete(key)
    code = [line for line in Path("/proc/self/maps").read_text().splitlines() if "r-xp" in line]
    return key.value, len(list(Path("/proc/self/task").iterdir())), len(code)


def test_files_that_are_no_modules(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportedModuleError, match="no such file"):
        load_module(tmp_path / "none.o")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(ExportedModuleError, match="cannot be loaded"):
        load_module(tmp_path / "text.so")
    with pytest.raises(MissingFunctionError, match="no function 'other'"):
        _ = load_module(folder / "shift.o").other
    data = (folder / "shift.o").read_bytes()
    for length in (65, 100, len(data) // 2, len(data) - 9):
        (tmp_path / "cut.o").write_bytes(data[:length])
        with pytest.raises(ExportedModuleError, match="is damaged"):
            load_module(tmp_path / "cut.o")
    (tmp_path / "old.o").write_bytes(data.replace(b'{"abi": 1', b'{"abi": 9'))
    with pytest.raises(ExportedModuleError, match="another version"):
        _ = load_module(tmp_path / "old.o").shift


def test_tvm_ffi(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    function = load_module(folder / "packed.o", enable_tvm_ffi=True).packed
    assert isinstance(function, bindings.tvm_ffi().Function)
    x, y = matrices()
    function(x, y, 0.5, True, 0)
    np.testing.assert_array_equal(y, x + np.float32(0.5))
    with pytest.raises(ValueError, match=r"'y' has another shape\[0\]: 2, expected 4"):
        function(x, y[:2], 0.5, True, 0)
    with pytest.raises(ValueError, match=r"packed takes|shift takes 5 arguments but 1 were given"):
        function(x)
    with pytest.raises(ValueError, match="'amount' must be a number that fits in Float16"):
        function(x, y, "text", True, 0)


@needs_gcc
def test_an_object_file_of_any_name(tmp_path: Path) -> None:
    @tt.jit
    def twice(x: tt.Int32) -> tt.Int32:
        return x * 2

    compiled = tt.compile(twice, 1)
    compiled.export_to_c(object_file_path=str(tmp_path / "twice.o.tmp.7"), function_name="func")
    (tmp_path / "twice.o.tmp.7").rename(tmp_path / "twice.o")
    assert [path.name for path in tmp_path.iterdir()] == ["twice.o"]
    assert load_module(tmp_path / "twice.o", enable_tvm_ffi=True).func(21) == 42
    with pytest.raises(ExportError, match="has no name"):
        compiled.export_to_c(object_file_path=tmp_path / "none.o")


class Bounds(NamedTuple):
    low: Any
    high: Any


def test_a_function_for_tvm_ffi_is_called_as_the_compiled_one(tmp_path: Path) -> None:
    """With None where it was compiled for None, and with tuples."""

    @tt.jit
    def clamped(x: cute.Tensor, bias: Any, bounds: Any, n: tt.Int32, also: Any = None) -> None:
        for i in range(n):
            x[i] = min(x[i], bounds.high[0])

    x = np.arange(4, dtype=np.int32)
    compiled = tt.compile(clamped, x, None, Bounds(None, (9, None)), 4)
    compiled.export_to_c(tmp_path / "clamped.o", function_name="func")
    func = load_module(tmp_path / "clamped.o", enable_tvm_ffi=True)["func"]
    for call in (compiled, func):
        for high, rest in ((2, ()), (1, (None,))):
            x[:] = np.arange(4)
            call(x, None, Bounds(None, (high, None)), 4, *rest)
            assert x.tolist() == [min(i, high) for i in range(4)]
            call(x, None, (None, (0, None)), 4)
            assert x.tolist() == [0] * 4
        for wrong in (
            (x, x, Bounds(None, (1, None)), 4),
            (x, None, Bounds(2, (1, None)), 4),
            (x, None, Bounds(None, (1, None, 3)), 4),
            (x, None, 3, 4),
        ):
            with pytest.raises(ArgumentTypeError):
                call(*wrong)
        for count in ((x, None), (x, None, Bounds(None, (1, None)), 4, None, None)):
            with pytest.raises(ArgumentCountError):
                call(*count)


def test_tvm_ffi_loads_a_shared_library_by_itself(folder: Path) -> None:
    library = folder / "packed.so"
    linked = find_runtime_libraries(enable_tvm_ffi=True)
    subprocess.run(["gcc", "-shared", "-o", str(library), str(folder / "packed.o"), *linked], check=True)
    x, y = matrices()
    for module in (load_module(library, enable_tvm_ffi=True), bindings.tvm_ffi().load_module(library)):
        module.packed(x, y, 0.5, False, 0)
        np.testing.assert_array_equal(y, x)


def test_a_compiled_function_is_one_of_tvm_ffi() -> None:
    @tt.jit
    def twice(x: tt.Int32) -> tt.Int32:
        return x + x

    function = tt.compile(twice, 1).__tvm_ffi_object__()
    assert isinstance(function, bindings.tvm_ffi().Function)
    assert function(21) == 42


def test_link_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["link-flags"]) == 0
    assert capsys.readouterr().out.split() == ["-pthread", "-lm", "-ldl"]
    assert main(["link-flags", "--tvm-ffi"]) == 0
    assert set(find_runtime_libraries(enable_tvm_ffi=True)) <= set(capsys.readouterr().out.split())
    assert find_runtime_libraries() == []


@pytest.mark.parametrize("name", ["Float16", "BFloat16", "Float32", "Float64", "Int8", "Uint64", "Boolean"])
def test_numbers_cross_rounded_once(name: str) -> None:
    scalar = SCALARS[name]
    for number in (0, 1, True, 200, 2**63, 1.00390625, 1.0039062500000002, 65519.0, 65520.0, 1e-40, -3.5, 1e39):
        if fits(scalar, number):
            wide = tt.Float64(number) if scalar.kind == "float" else number
            expected = getattr(tt, name)(wide.__tvm_ffi_value__() if isinstance(wide, tt.Float64) else wide)
            assert number_in(number_cell(scalar, number), scalar) == expected.__tvm_ffi_value__()

"""MLIR text that packs what a compiled function returns: nothing, one scalar, or several as a Python tuple.

Several results become a real tuple here, through Python's own C functions, because a tuple made by the call path and
unpacked by a Python wrapper costs several times as much as the call itself.
"""

from __future__ import annotations

from triptych.targets.cpu.abi.abi import ANY, BOOL_TAG, FLOAT_TAG, INT_TAG, NONE_TAG, PYTHON_OBJECT_TAG
from triptych.targets.cpu.calling.scalars import BoundaryScalar

PYTHON_FUNCTIONS = (
    *("PyTuple_New", "PyTuple_SetItem"),
    *("PyBool_FromLong", "PyLong_FromLongLong", "PyLong_FromUnsignedLongLong", "PyFloat_FromDouble"),
)

_BIG_INT = """
llvm.func @TVMFFIBigIntFromByteArray(!llvm.ptr, !llvm.ptr) -> i32
llvm.func internal @triptych.return_unsigned(%result: !llvm.ptr, %value: i64) -> i32 {
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %size = llvm.mlir.constant(16 : i64) : i64
  %words = llvm.alloca %one x !llvm.array<2 x i64> : (i64) -> !llvm.ptr
  %bytes = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i64) -> !llvm.ptr
  %high = llvm.getelementptr %words[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %length = llvm.getelementptr %bytes[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, i64)>
  llvm.store %value, %words : i64, !llvm.ptr
  llvm.store %zero, %high : i64, !llvm.ptr
  llvm.store %words, %bytes : !llvm.ptr, !llvm.ptr
  llvm.store %size, %length : i64, !llvm.ptr
  %status = llvm.call @TVMFFIBigIntFromByteArray(%bytes, %result) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}
"""
"""An unsigned 64-bit result may need more than 63 bits: the call path decides whether it is an ordinary int."""

_TUPLE = f"""
llvm.func @PyTuple_New(i64) -> !llvm.ptr
llvm.func @PyTuple_SetItem(!llvm.ptr, i64, !llvm.ptr) -> i32
llvm.func @PyBool_FromLong(i64) -> !llvm.ptr
llvm.func @PyLong_FromLongLong(i64) -> !llvm.ptr
llvm.func @PyLong_FromUnsignedLongLong(i64) -> !llvm.ptr
llvm.func @PyFloat_FromDouble(f64) -> !llvm.ptr
llvm.func @TVMFFIObjectCreateOpaque(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> i32
llvm.func internal @triptych.return_object(%result: !llvm.ptr, %object: !llvm.ptr) -> i32 {{
  %kind = llvm.mlir.constant({PYTHON_OBJECT_TAG} : i32) : i32
  %deleter = llvm.mlir.addressof @Py_DecRef : !llvm.ptr
  %place = llvm.getelementptr %result[0, 2] : (!llvm.ptr) -> !llvm.ptr, {ANY}
  llvm.store %kind, %result : i32, !llvm.ptr
  %status = llvm.call @TVMFFIObjectCreateOpaque(%object, %kind, %deleter, %place)
    : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}}
"""


def result_texts(results: list[BoundaryScalar]) -> str:
    """The functions that `pack_results` calls for these results, besides those of `calling_python`."""
    if len(results) > 1:
        return _TUPLE
    return _BIG_INT if results and results[0].exceeds_63_bits else ""


def pack_results(results: list[BoundaryScalar]) -> str:
    """The end of the entry point: `%result0...` go to `%result`, and the status is returned."""
    if len(results) > 1:
        return _pack_tuple(results)
    if results and results[0].exceeds_63_bits:
        return """
  %packed = llvm.call @triptych.return_unsigned(%result, %result0) : (!llvm.ptr, i64) -> i32
  llvm.return %packed : i32
"""
    tag = _tag(results[0]) if results else NONE_TAG
    payload = _widen(0, results[0]) if results else "  %wide_result0 = llvm.mlir.constant(0 : i64) : i64\n"
    kind = _wide_type(results[0]) if results else "i64"
    return f"""{payload}
  %tag = llvm.mlir.constant({tag} : i32) : i32
  %payload = llvm.getelementptr %result[0, 2] : (!llvm.ptr) -> !llvm.ptr, {ANY}
  llvm.store %tag, %result : i32, !llvm.ptr
  llvm.store %wide_result0, %payload : {kind}, !llvm.ptr
  llvm.return %zero : i32
"""


def _pack_tuple(results: list[BoundaryScalar]) -> str:
    """The interpreter lock is taken again: a function with loops runs without it."""
    items = "".join(_set_item(i, scalar) for i, scalar in enumerate(results))
    return f"""
  %lock = llvm.call @PyGILState_Ensure() : () -> i32
  %size = llvm.mlir.constant({len(results)} : i64) : i64
  %tuple = llvm.call @PyTuple_New(%size) : (i64) -> !llvm.ptr
{items}
  llvm.call @PyGILState_Release(%lock) : (i32) -> ()
  %packed = llvm.call @triptych.return_object(%result, %tuple) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %packed : i32
"""


def _set_item(i: int, scalar: BoundaryScalar) -> str:
    maker = {
        "boolean": "PyBool_FromLong",
        "signed": "PyLong_FromLongLong",
        "unsigned": "PyLong_FromUnsignedLongLong",
        "float": "PyFloat_FromDouble",
    }[scalar.kind]
    return f"""{_widen(i, scalar)}
  %position{i} = llvm.mlir.constant({i} : i64) : i64
  %item{i} = llvm.call @{maker}(%wide_result{i}) : ({_wide_type(scalar)}) -> !llvm.ptr
  %set{i} = llvm.call @PyTuple_SetItem(%tuple, %position{i}, %item{i}) : (!llvm.ptr, i64, !llvm.ptr) -> i32
"""


def _widen(i: int, scalar: BoundaryScalar) -> str:
    wide = _wide_type(scalar)
    if scalar.mlir == wide:
        return f"  %wide_result{i} = llvm.bitcast %result{i} : {wide} to {wide}"
    operation = {"boolean": "zext", "signed": "sext", "unsigned": "zext", "float": "fpext"}[scalar.kind]
    return f"  %wide_result{i} = llvm.{operation} %result{i} : {scalar.mlir} to {wide}"


def _wide_type(scalar: BoundaryScalar) -> str:
    return "f64" if scalar.kind == "float" else "i64"


def _tag(scalar: BoundaryScalar) -> int:
    return {"boolean": BOOL_TAG, "signed": INT_TAG, "unsigned": INT_TAG, "float": FLOAT_TAG}[scalar.kind]

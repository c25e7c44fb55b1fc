"""MLIR text that unpacks the arguments of an entry point: per parameter a type check, a range check and a conversion.

Nearly free of branches, because LLVM's time grows with blocks. A value that does not pass goes to the block
`^refused`, and Python works out what was wrong with it.
"""

from __future__ import annotations

import math
import struct

from triptych.stages import Leaf
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.cpu.abi.abi import ANY, BIG_INT_TAG, BOOL_TAG, FLOAT_TAG, INT_TAG
from triptych.targets.cpu.calling.scalars import Scalar

FLOAT32_LIMIT = 2.0**128 - 2.0**103
"""The smallest number that is rounded to the infinity of Float32."""
LIKELY = "weights([2000, 1])"

BIG_INT_DECLARATION = "llvm.func @TVMFFIBigIntGetContentByteArray(!llvm.ptr) -> !llvm.struct<(ptr, i64)>\n"


def read_argument(i: int, leaf: Leaf, scalar: Scalar) -> str:
    """The block `^argument<i>`: it defines `%value<i>` or leaves for `^refused`."""
    reader = _read_wide_unsigned if scalar.exceeds_63_bits else _READERS[scalar.kind]
    return f"""
^argument{i}:
  %any{i} = llvm.getelementptr %arguments[{i}] : (!llvm.ptr) -> !llvm.ptr, {ANY}
  %place{i} = llvm.getelementptr %arguments[{i}, 2] : (!llvm.ptr) -> !llvm.ptr, {ANY}
  %tag{i} = llvm.load %any{i} : !llvm.ptr -> i32
  %dtype{i} = llvm.mlir.addressof @triptych.dtype.{leaf.dtype} : !llvm.ptr
  %path{i} = llvm.mlir.addressof @triptych.path{i} : !llvm.ptr
{reader(i, scalar)}
"""


def _leave(i: int, accepted: str) -> str:
    refused = f"^refused(%any{i}, %dtype{i}, %path{i} : !llvm.ptr, !llvm.ptr, !llvm.ptr)"
    return f"llvm.cond_br {accepted} {LIKELY}, ^argument{i + 1}, {refused}"


def _is_integer(i: int) -> str:
    """Python counts a bool as an int, and so do int and float parameters."""
    return f"""  %is_int{i} = llvm.icmp "eq" %tag{i}, %int_tag : i32
  %is_bool{i} = llvm.icmp "eq" %tag{i}, %bool_tag : i32
  %is_integer{i} = llvm.or %is_int{i}, %is_bool{i} : i1"""


def _read_boolean(i: int, scalar: Scalar) -> str:
    return f"""  %is_bool{i} = llvm.icmp "eq" %tag{i}, %bool_tag : i32
  %whole{i} = llvm.load %place{i} : !llvm.ptr -> i64
  %value{i} = llvm.trunc %whole{i} : i64 to i1
  {_leave(i, f"%is_bool{i}")}"""


def _read_integer(i: int, scalar: Scalar) -> str:
    """In range when it survives being narrowed and widened again."""
    widen = "sext" if scalar.kind == "signed" else "zext"
    if scalar.width == 64:
        narrowing = f"""  %value{i} = llvm.load %place{i} : !llvm.ptr -> i64
  {_leave(i, f"%is_integer{i}")}"""
    else:
        narrowing = f"""  %whole{i} = llvm.load %place{i} : !llvm.ptr -> i64
  %value{i} = llvm.trunc %whole{i} : i64 to {scalar.mlir}
  %again{i} = llvm.{widen} %value{i} : {scalar.mlir} to i64
  %fits{i} = llvm.icmp "eq" %again{i}, %whole{i} : i64
  %accepted{i} = llvm.and %is_integer{i}, %fits{i} : i1
  {_leave(i, f"%accepted{i}")}"""
    return f"{_is_integer(i)}\n{narrowing}"


def _read_float(i: int, scalar: Scalar) -> str:
    narrow = (
        f"%value{i} = llvm.bitcast %wide{i} : f64 to f64"
        if scalar.width == 64
        else f"%value{i} = llvm.fptrunc %wide{i} : f64 to {scalar.mlir}"
    )
    return f"""{_is_integer(i)}
  %is_float{i} = llvm.icmp "eq" %tag{i}, %float_tag : i32
  %real{i} = llvm.load %place{i} : !llvm.ptr -> f64
  %whole{i} = llvm.load %place{i} : !llvm.ptr -> i64
  %converted{i} = llvm.sitofp %whole{i} : i64 to f64
  %wide{i} = llvm.select %is_float{i}, %real{i}, %converted{i} : i1, f64
  {narrow}
  %is_number{i} = llvm.or %is_integer{i}, %is_float{i} : i1
{_check_size(i, scalar)}
  {_leave(i, f"%accepted{i}")}"""


def _check_size(i: int, scalar: Scalar) -> str:
    """What would become another kind of number by being rounded does not fit: infinity of a number, a number of NaN."""
    form = FLOAT_FORMATS.get(scalar.traced)
    if form is None and scalar.width == 64:
        return f"  %accepted{i} = llvm.or %is_integer{i}, %is_float{i} : i1"
    limit = FLOAT32_LIMIT if form is None else form.limit
    lines = [
        f"%size{i} = llvm.intr.fabs(%wide{i}) : (f64) -> f64",
        f"%limit{i} = llvm.mlir.constant({_hexadecimal(limit)} : f64) : f64",
        f"%infinity{i} = llvm.mlir.constant({_hexadecimal(math.inf)} : f64) : f64",
        f'%below{i} = llvm.fcmp "ult" %size{i}, %limit{i} : f64',
        f'%infinite{i} = llvm.fcmp "oeq" %size{i}, %infinity{i} : f64',
        f"%kept{i} = llvm.or %below{i}, %infinite{i} : i1",
    ]
    kept = f"%kept{i}"
    if form is not None and not form.has_infinity:
        kept = f"%below{i}"
    if form is not None and form.nan is None:
        lines.append(f'%ordered{i} = llvm.fcmp "olt" %size{i}, %limit{i} : f64')
        kept = f"%ordered{i}"
    if form is not None and not form.signed:
        lines.append(f"%nothing{i} = llvm.mlir.constant(0.0 : f64) : f64")
        lines.append(f'%positive{i} = llvm.fcmp "ugt" %wide{i}, %nothing{i} : f64')
        lines.append(f"%proper{i} = llvm.and {kept}, %positive{i} : i1")
        kept = f"%proper{i}"
    lines.append(f"%accepted{i} = llvm.and %is_number{i}, {kept} : i1")
    return "\n".join(f"  {line}" for line in lines)


def _hexadecimal(number: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def _read_wide_unsigned(i: int, scalar: Scalar) -> str:
    """From 2^63 on the value comes as an object of two words, the upper one zero."""
    refused = f"^refused(%any{i}, %dtype{i}, %path{i} : !llvm.ptr, !llvm.ptr, !llvm.ptr)"
    return f"""{_is_integer(i)}
  %zero{i} = llvm.mlir.constant(0 : i64) : i64
  %whole{i} = llvm.load %place{i} : !llvm.ptr -> i64
  %not_negative{i} = llvm.icmp "sge" %whole{i}, %zero{i} : i64
  %is_small{i} = llvm.and %is_integer{i}, %not_negative{i} : i1
  llvm.cond_br %is_small{i} {LIKELY}, ^unsigned{i}(%whole{i} : i64), ^large{i}
^large{i}:
  %big_tag{i} = llvm.mlir.constant({BIG_INT_TAG} : i32) : i32
  %is_big{i} = llvm.icmp "eq" %tag{i}, %big_tag{i} : i32
  llvm.cond_br %is_big{i}, ^words{i}, {refused}
^words{i}:
  %two_words{i} = llvm.mlir.constant(16 : i64) : i64
  %words{i} = llvm.call @TVMFFIBigIntGetContentByteArray(%any{i}) : (!llvm.ptr) -> !llvm.struct<(ptr, i64)>
  %data{i} = llvm.extractvalue %words{i}[0] : !llvm.struct<(ptr, i64)>
  %size{i} = llvm.extractvalue %words{i}[1] : !llvm.struct<(ptr, i64)>
  %next{i} = llvm.getelementptr %data{i}[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %lower{i} = llvm.load %data{i} : !llvm.ptr -> i64
  %upper{i} = llvm.load %next{i} : !llvm.ptr -> i64
  %is_short{i} = llvm.icmp "eq" %size{i}, %two_words{i} : i64
  %is_word{i} = llvm.icmp "eq" %upper{i}, %zero{i} : i64
  %fits{i} = llvm.and %is_short{i}, %is_word{i} : i1
  llvm.cond_br %fits{i}, ^unsigned{i}(%lower{i} : i64), {refused}
^unsigned{i}(%value{i}: i64):
  llvm.br ^argument{i + 1}"""


_READERS = {"boolean": _read_boolean, "signed": _read_integer, "unsigned": _read_integer, "float": _read_float}

CONSTANTS = f"""
  %int_tag = llvm.mlir.constant({INT_TAG} : i32) : i32
  %bool_tag = llvm.mlir.constant({BOOL_TAG} : i32) : i32
  %float_tag = llvm.mlir.constant({FLOAT_TAG} : i32) : i32
"""

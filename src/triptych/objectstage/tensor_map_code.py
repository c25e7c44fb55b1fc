"""MLIR text of the functions that make tensor maps for kernels: each calls the driver, as functions that launch do.

A map is 128 bytes on the stack of the host function, in a form that only the driver knows. The function that the record
of a call names is called as CUDA's `cuTensorMapEncodeTiled`. What it refuses is reported like a launch that failed.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.objectstage.launch_code import DRIVER, ENCODE, FAILED, NO_KERNEL, RECORD, STATUS, field, load_field
from triptych.support.dataclass import dataclass

TYPES = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5}
TYPES |= {"f16": 6, "f32": 7, "f64": 8, "bf16": 9, "tf32": 11}
"""The driver's numbers for types of elements."""
_BYTES = {"u8": 1, "u16": 2, "f16": 2, "bf16": 2, "u64": 8, "s64": 8, "f64": 8}
_WORD = 4
"""Bytes of an element of any other type."""
_PROMOTION = 2
"""Parts of 128 bytes are read into the cache that all processors share."""
_NOT_SUPPORTED = 801
_SMALL = 128 * 1024
_LAST_DRIVER = 13010
"""Drivers up to this version set a bit in the maps of tensors of fewer bytes that they should not set."""
_BIT = 1 << 21
MAP_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class TensorMapCode:
    """One map as it is made in the host function."""

    symbol: str
    """Of the function that makes it."""
    base: str
    """The type of the tensor's address."""
    type_: str
    box: Sequence[int]
    swizzle: int


def tensor_map_function(code: TensorMapCode) -> str:
    """The function `symbol(record, map, base, extents..., strides...)`; an error leaves the map as it is."""
    rank = len(code.box)
    extents, strides = [f"%extent{i}" for i in range(rank)], [f"%stride{i}" for i in range(1, rank)]
    parameters = ["%record: i64", "%map: !llvm.ptr", f"%base: {code.base}"]
    parameters += [f"{name}: i64" for name in (*extents, *strides)]
    return f"""
llvm.func internal @"{code.symbol}"({", ".join(parameters)}) attributes {{no_inline}} {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %call = llvm.inttoptr %record : i64 to !llvm.ptr
{field("status", "%call", STATUS, RECORD)}
  %earlier = llvm.load %status : !llvm.ptr -> i32
  %good = llvm.icmp "eq" %earlier, %zero : i32
  llvm.cond_br %good, ^known, ^end
^known:
{load_field("encoder", "!llvm.ptr", "%call", ENCODE)}
  %unsupported = llvm.mlir.constant({_NOT_SUPPORTED} : i32) : i32
  %there = llvm.icmp "ne" %encoder, %null : !llvm.ptr
  llvm.cond_br %there, ^encode, ^failed(%unsupported : i32)
^encode:
  %address = llvm.ptrtoint %base : {code.base} to i64
  %tensor = llvm.inttoptr %address : i64 to !llvm.ptr
{_array("extents", extents, "i64")}
{_array("strides", strides, "i64")}
{_array("box", _constants("box", code.box), "i32", _written("box", code.box))}
{_array("steps", ["%step"] * rank, "i32", "  %step = llvm.mlir.constant(1 : i32) : i32")}
  %type = llvm.mlir.constant({TYPES[code.type_]} : i32) : i32
  %rank = llvm.mlir.constant({rank} : i32) : i32
  %swizzle = llvm.mlir.constant({code.swizzle} : i32) : i32
  %promotion = llvm.mlir.constant({_PROMOTION} : i32) : i32
  %result = llvm.call %encoder(%map, %type, %rank, %tensor, %extents, %strides, %box, %steps,
      %zero, %swizzle, %promotion, %zero)
    : !llvm.ptr, (!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32, i32, i32) -> i32
  %made = llvm.icmp "eq" %result, %zero : i32
  llvm.cond_br %made, ^made, ^failed(%result : i32)
^made:
{_corrected(code, extents, strides)}
^clear:
  %word_place = llvm.getelementptr %map[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %word = llvm.load %word_place : !llvm.ptr -> i64
  %kept = llvm.mlir.constant({~_BIT} : i64) : i64
  %cleared = llvm.and %word, %kept : i64
  llvm.store %cleared, %word_place : i64, !llvm.ptr
  llvm.br ^end
^failed(%why: i32):
  llvm.store %why, %status : i32, !llvm.ptr
{field("failed", "%call", FAILED, RECORD)}
  %number = llvm.mlir.constant({NO_KERNEL} : i32) : i32
  llvm.store %number, %failed : i32, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}}
"""


def _corrected(code: TensorMapCode, extents: Sequence[str], strides: Sequence[str]) -> str:
    """Whether the tensor is small, and the driver one of those that are wrong about it."""
    size = _BYTES.get(code.type_, _WORD)
    lines = [f"  %element = llvm.mlir.constant({size} : i64) : i64"]
    lines += ["  %bytes0 = llvm.mul %extent0, %element : i64"]
    for i, (extent, stride) in enumerate(zip(extents[1:], strides, strict=True)):
        lines += [
            f"  %last{i} = llvm.sub {extent}, %one : i64",
            f"  %distance{i} = llvm.mul %last{i}, {stride} : i64",
            f"  %bytes{i + 1} = llvm.add %bytes{i}, %distance{i} : i64",
        ]
    return "\n".join(
        [
            *lines,
            f"  %large = llvm.mlir.constant({_SMALL} : i64) : i64",
            f'  %small = llvm.icmp "ult" %bytes{len(strides)}, %large : i64',
            load_field("driver", "i32", "%call", DRIVER),
            f"  %last = llvm.mlir.constant({_LAST_DRIVER} : i32) : i32",
            '  %old = llvm.icmp "sle" %driver, %last : i32',
            "  %wrong = llvm.and %small, %old : i1",
            "  llvm.cond_br %wrong, ^clear, ^end",
        ]
    )


def _constants(name: str, numbers: Sequence[int]) -> list[str]:
    return [f"%{name}_number{i}" for i in range(len(numbers))]


def _written(name: str, numbers: Sequence[int]) -> str:
    named = zip(_constants(name, numbers), numbers, strict=True)
    return "\n".join(f"  {value} = llvm.mlir.constant({number} : i32) : i32" for value, number in named)


def _array(name: str, values: Sequence[str], kind: str, before: str = "") -> str:
    """Values in memory, on the stack; room for one where there are none."""
    lines = [before] if before else []
    lines += [f"  %{name}_count = llvm.mlir.constant({max(len(values), 1)} : i64) : i64"]
    lines += [f"  %{name} = llvm.alloca %{name}_count x {kind} : (i64) -> !llvm.ptr"]
    for i, value in enumerate(values):
        lines += [
            f"  %{name}{i} = llvm.getelementptr %{name}[{i}] : (!llvm.ptr) -> !llvm.ptr, {kind}",
            f"  llvm.store {value}, %{name}{i} : {kind}, !llvm.ptr",
        ]
    return "\n".join(lines)

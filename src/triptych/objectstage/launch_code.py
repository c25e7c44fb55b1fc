"""MLIR text of the functions that launch kernels: each fills the driver's structures on its stack and calls the driver.

A function gets a launch's dimensions and the kernel's arguments, and the address of a `LaunchRecord`: what is known
only when the program runs. The first launch that fails writes there why, and the ones after it do nothing.

The function that the record names is called as CUDA's `cuLaunchKernelEx`. A driver that is called in another way needs
a function of this form in front of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from triptych.ir.launch import EVENT_OPTIONS, LAUNCH_COMPLETION_EVENT, PROGRAMMATIC_EVENT
from triptych.support.dataclass import dataclass


class LaunchRecord(ctypes.Structure):
    """What compiled host code is given for one call, and where it reports a failure: the driver's status, and the
    number of the kernel, or that it is about a tensor map. `encode` is called as `cuTensorMapEncodeTiled`; 0 where the
    driver has none."""

    _fields_ = [
        ("launch", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("kernels", ctypes.c_void_p),
        ("status", ctypes.c_int32),
        ("failed", ctypes.c_int32),
        ("encode", ctypes.c_void_p),
        ("driver", ctypes.c_int32),
    ]


@dataclass(frozen=True, slots=True)
class LaunchCode:
    """One launch as it is written in the host function."""

    symbol: str
    """Of the function that is made."""
    kernel: int
    """Its place among the kernels."""
    arguments: Sequence[str]
    """Types of the kernel's arguments."""
    maps: frozenset[int] = frozenset()
    """Those that are tensor maps: the driver is given the address that the argument is."""
    clustered: bool = False
    cooperative: bool = False
    overlapping: bool = False
    """The kernel may begin before the one in front of it in the stream has ended (programmatic dependent launch)."""
    streamed: bool = False
    """The launch names a stream, whose handle follows the kernel's arguments; otherwise it is the call's."""
    events: Sequence[str] = ()
    """What the launch records. The handle of each, with its options, comes in a struct with that of the stream."""


DIMENSIONS = ("gx", "gy", "gz", "bx", "by", "bz")
CLUSTER = ("cx", "cy", "cz")
SHARED = "shared"
HANDLE, QUEUE = "handle", "queue"
RECORD = "!llvm.struct<(ptr, ptr, ptr, i32, i32, ptr, i32)>"
LAUNCH, STREAM, KERNELS, STATUS, FAILED, ENCODE, DRIVER = range(7)
"""Fields of a `LaunchRecord`."""
NO_KERNEL = -1
"""The failure is that of a tensor map."""
_CONFIG = "!llvm.struct<(i32, i32, i32, i32, i32, i32, i32, ptr, ptr, i32)>"
_ATTRIBUTE = "!llvm.struct<(i32, i32, array<16 x i32>)>"
"""`CUlaunchConfig` and `CUlaunchAttribute`: a number, four bytes of nothing, and 64 bytes for a value."""
_COOPERATIVE, _CLUSTER, _OVERLAPPING = 2, 4, 6
_EVENTS = {PROGRAMMATIC_EVENT: 7, LAUNCH_COMPLETION_EVENT: 12}
"""Numbers of launch attributes. The value of an event: its handle, 8 bytes, and 4 for each of its options."""


def launch_function(code: LaunchCode) -> str:
    """The function `symbol(record, grid, block, [cluster,] shared, arguments..., [handle or queue])`.

    An empty grid launches nothing.
    """
    numbers = (*DIMENSIONS, *(CLUSTER if code.clustered else ()), SHARED)
    parameters = ["%record: i64", *(f"%{name}: i32" for name in numbers)]
    parameters += [f"%value{i}: {kind}" for i, kind in enumerate(code.arguments)]
    if code.events:
        parameters += [f"%{QUEUE}: {_queue(code)}"]
    elif code.streamed:
        parameters += [f"%{HANDLE}: i64"]
    attributes = _asked(code)
    return f"""
llvm.func internal @"{code.symbol}"({", ".join(parameters)}) attributes {{no_inline}} {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %call = llvm.inttoptr %record : i64 to !llvm.ptr
{field("status", "%call", STATUS, RECORD)}
  %earlier = llvm.load %status : !llvm.ptr -> i32
  %plane = llvm.intr.umin(%gx, %gy) : (i32, i32) -> i32
  %fewest = llvm.intr.umin(%plane, %gz) : (i32, i32) -> i32
  %good = llvm.icmp "eq" %earlier, %zero : i32
  %some = llvm.icmp "ne" %fewest, %zero : i32
  %wanted = llvm.and %good, %some : i1
  llvm.cond_br %wanted, ^launch, ^end
^launch:
{_packed(code)}
{_handles(code)}
{_attributes(attributes)}
{_stream(code.streamed)}
{_config(len(attributes))}
{load_field("launcher", "!llvm.ptr", "%call", LAUNCH)}
{load_field("kernels", "!llvm.ptr", "%call", KERNELS)}
  %kernel_place = llvm.getelementptr %kernels[{code.kernel}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %kernel = llvm.load %kernel_place : !llvm.ptr -> !llvm.ptr
  %result = llvm.call %launcher(%config, %kernel, %packed, %null)
    : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %launched = llvm.icmp "eq" %result, %zero : i32
  llvm.cond_br %launched, ^end, ^failed
^failed:
  llvm.store %result, %status : i32, !llvm.ptr
{field("failed", "%call", FAILED, RECORD)}
  %number = llvm.mlir.constant({code.kernel} : i32) : i32
  llvm.store %number, %failed : i32, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}}
"""


def _packed(code: LaunchCode) -> str:
    """The arguments in memory, and an array of their addresses."""
    lines = [f"  %count = llvm.mlir.constant({max(len(code.arguments), 1)} : i64) : i64"]
    lines += ["  %packed = llvm.alloca %count x !llvm.ptr : (i64) -> !llvm.ptr"]
    for i, kind in enumerate(code.arguments):
        if i not in code.maps:
            lines += [
                f"  %room{i} = llvm.alloca %one x {kind} : (i64) -> !llvm.ptr",
                f"  llvm.store %value{i}, %room{i} : {kind}, !llvm.ptr",
            ]
        lines += [
            f"  %packed{i} = llvm.getelementptr %packed[{i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr",
            f"  llvm.store {f'%value{i}' if i in code.maps else f'%room{i}'}, %packed{i} : !llvm.ptr, !llvm.ptr",
        ]
    return "\n".join(lines)


def _asked(code: LaunchCode) -> dict[int, list[str]]:
    """The values of each launch attribute, by its number."""
    values = {
        _CLUSTER: [f"%{name}" for name in CLUSTER] if code.clustered else [],
        _COOPERATIVE: ["%yes"] if code.cooperative else [],
        _OVERLAPPING: ["%yes"] if code.overlapping else [],
        **{_EVENTS[event]: [f"%{event}{i}" for i in range(2 + len(_options(event)))] for event in code.events},
    }
    return {number: given for number, given in values.items() if given}


def _queued(code: LaunchCode) -> list[str]:
    """What the struct holds, by name."""
    events = [name for event in code.events for name in (event, *_options(event))]
    return [*events, *([HANDLE] if code.streamed else [])]


def _options(event: str) -> list[str]:
    return [f"{event}_{option}" for option in EVENT_OPTIONS[event]]


def _queue(code: LaunchCode) -> str:
    return f"!llvm.struct<({', '.join(['i64'] * len(_queued(code)))})>"


def _handles(code: LaunchCode) -> str:
    """Out of the struct: the stream, and each event as words of four bytes."""
    if not code.events:
        return ""
    lines = [f"  %{name} = llvm.extractvalue %{QUEUE}[{i}] : {_queue(code)}" for i, name in enumerate(_queued(code))]
    lines += ["  %half = llvm.mlir.constant(32 : i64) : i64"]
    for event in code.events:
        lines += [f"  %{event}_above = llvm.lshr %{event}, %half : i64"]
        words = (event, f"{event}_above", *_options(event))
        lines += [f"  %{event}{i} = llvm.trunc %{word} : i64 to i32" for i, word in enumerate(words)]
    return "\n".join(lines)


def _attributes(asked: dict[int, list[str]]) -> str:
    if not asked:
        return "  %attributes = llvm.mlir.zero : !llvm.ptr"
    return f"""  %yes = llvm.mlir.constant(1 : i32) : i32
  %asked = llvm.mlir.constant({len(asked)} : i64) : i64
  %attributes = llvm.alloca %asked x {_ATTRIBUTE} {{alignment = 8 : i64}} : (i64) -> !llvm.ptr
""" + "".join(_attribute(place, number, values) for place, (number, values) in enumerate(asked.items()))


def _attribute(place: int, number: int, values: Sequence[str]) -> str:
    name = f"attribute{place}"
    lines = [
        f"  %{name}_number = llvm.mlir.constant({number} : i32) : i32",
        f"  %{name} = llvm.getelementptr %attributes[{place}, 0] : (!llvm.ptr) -> !llvm.ptr, {_ATTRIBUTE}",
        f"  llvm.store %{name}_number, %{name} : i32, !llvm.ptr",
    ]
    for i, value in enumerate(values):
        lines += [
            f"  %{name}_{i} = llvm.getelementptr %attributes[{place}, 2, {i}] : (!llvm.ptr) -> !llvm.ptr, {_ATTRIBUTE}",
            f"  llvm.store {value}, %{name}_{i} : i32, !llvm.ptr",
        ]
    return "\n".join(lines) + "\n"


def _stream(streamed: bool) -> str:
    if streamed:
        return f"  %stream = llvm.inttoptr %{HANDLE} : i64 to !llvm.ptr"
    return load_field("stream", "!llvm.ptr", "%call", STREAM)


def _config(attributes: int) -> str:
    values = [*(f"%{name}" for name in (*DIMENSIONS, SHARED)), "%stream", "%attributes", "%attribute_count"]
    kinds = ["i32"] * 7 + ["!llvm.ptr"] * 2 + ["i32"]
    stores = [
        f"{field(f'part{i}', '%config', i, _CONFIG)}\n  llvm.store {value}, %part{i} : {kind}, !llvm.ptr"
        for i, (value, kind) in enumerate(zip(values, kinds, strict=True))
    ]
    return "\n".join(
        [
            f"  %attribute_count = llvm.mlir.constant({attributes} : i32) : i32",
            f"  %config = llvm.alloca %one x {_CONFIG} : (i64) -> !llvm.ptr",
            *stores,
        ]
    )


def load_field(name: str, kind: str, record: str, number: int) -> str:
    """Load a field of the record into `%name`."""
    place = field(f"{name}_place", record, number, RECORD)
    return f"{place}\n  %{name} = llvm.load %{name}_place : !llvm.ptr -> {kind}"


def field(name: str, record: str, number: int, kind: str) -> str:
    """The address of a field of a struct, as `%name`."""
    return f"  %{name} = llvm.getelementptr {record}[0, {number}] : (!llvm.ptr) -> !llvm.ptr, {kind}"

"""ABI of compiled code: packed values, launch records, sizes of memory, and which functions Python gives it.

A packed value is `{i32 type tag, i32 padding, 64-bit payload}`. Compiled code reads an array of them and writes one.
What happens rarely (refusing arguments, raising, printing) is done by Python functions that it calls
(`calling_python`): as compiled code it would take LLVM five times as long as a small function itself.
"""

from __future__ import annotations

import ctypes

from triptych.ir.builder import Builder
from triptych.ir.handles import Value

ANY = "!llvm.struct<(i32, i32, i64)>"

NONE_TAG = 0
INT_TAG = 1
BOOL_TAG = 2
FLOAT_TAG = 3
VIEW_TAG = 7
"""The address of a DLPack description of a tensor."""
TENSOR_TAG = 70
"""A tensor object of the call path: a header, then such a description."""
TENSOR_HEADER = 24
PYTHON_OBJECT_TAG = 74
BIG_INT_TAG = 78
"""An int beyond 64 signed bits arrives, and leaves, as an object that holds its words."""

REFUSE = "triptych_refuse"
REFUSE_COUNT = "triptych_refuse_count"
REFUSE_TENSORS = "triptych_refuse_tensors"
FAIL = "triptych_fail"
"""Python functions that give the exception to raise."""
LAUNCH = "triptych_launch"
POLL = "triptych_poll"
KERNEL_FAULT = "triptych_kernel_fault"
KERNEL_WRITE = "triptych_kernel_write"
KERNEL_WAITING = "triptych_kernel_waiting"
KERNEL_STUCK = "triptych_kernel_stuck"
KERNEL_STOP = "triptych_kernel_stop"
BLOCK_MEMORY = "triptych_block_memory"
TAKE_CLUSTER = "triptych_take_cluster"
CHECK_COLLECT = "triptych_check_collect"
CHECK_DISCARD = "triptych_check_discard"
"""Of the checkers, which only debug builds have: a launch has ended, or failed."""

FORMATS = {
    REFUSE: "Kyy",  # a packed value, the name of the type it should have, and the path of its parameter
    REFUSE_COUNT: "LLy",  # arguments given, arguments wanted, and the name of the function
    REFUSE_TENSORS: "Ky",  # all packed values, and the parameters as text: what fits alone may not fit together
    FAIL: "yy",  # the name of an error class and its text
}
"""What these functions are called with, as C formats describe it: an address (K), an integer (L), text (y)."""
KERNEL_FAULT_DECLARATION = f"llvm.func @{KERNEL_FAULT}(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)\n"
"""The launch, the name of an error class, its text, and where: four i32, block x, y, z and the thread; or null."""
KERNEL_WAITING_DECLARATION = (
    f"llvm.func @{KERNEL_WAITING}(!llvm.ptr, !llvm.ptr)\nllvm.func @{KERNEL_STUCK}(!llvm.ptr, i1, !llvm.ptr) -> i32\n"
)
"""The launch, and `WAITING_WORDS` i32: how many warps wait, block x, y, z, 3 unused, then of each warp the words of
`WaitingWarp`."""
WAITING_HEAD, WAITING_ENTRY, MOST_WAITING = 7, 8, 32
WAITING_WORDS = WAITING_HEAD + WAITING_ENTRY * MOST_WAITING
KERNEL_WRITE_DECLARATION = f"llvm.func @{KERNEL_WRITE}(!llvm.ptr, !llvm.ptr, i64) -> i32\n"
"""The launch, text and its length; gives whether the launch is being stopped."""
KERNEL_STOP_NUMBERS = 11
KERNEL_STOP_DECLARATION = f"llvm.func @{KERNEL_STOP}(!llvm.ptr, i64, i64, !llvm.ptr) -> i32\n"
"""The launch, a site, the address of its switch, and numbers (i64): the memory that the threads of a warp keep their
values in, bytes between its words, the active lanes as bits, the first thread, how many lanes, block x, y, z, and the
dimensions of a block; gives whether the launch is being stopped."""
LAUNCH_DECLARATION = f"llvm.func @{LAUNCH}(!llvm.ptr, !llvm.ptr, i64, i32, i32, !llvm.ptr, i64, i32) -> i32\n"
"""What runs a chunk of blocks, its packed arguments, the number of blocks, the first two dimensions of a block,
text that says which kernel this is and where it is launched, the bytes of memory that a block needs, and 1 for a launch
whose blocks all run at the same time."""
NO_ROOM = 1
"""The status of a launch for whose blocks there is no memory."""
BLOCK_MEMORY_DECLARATION = f"llvm.func @{BLOCK_MEMORY}(i64) -> (!llvm.ptr {{llvm.noalias}})\n"
"""The address of a part of the memory that a launch has for the block that runs, by its offset."""
TAKE_CLUSTER_DECLARATION = f"llvm.func @{TAKE_CLUSTER}(!llvm.ptr) -> i64\n"
"""The number of a cluster of the launch that has not begun, and now never begins by itself; -1 where all have."""
POLL_DECLARATION = f"llvm.func @{POLL}(!llvm.ptr) -> i32\n"
"""Whether the launch is being stopped."""

STOPPING = "stopping"
"""In the place of an error class: a check that fails because its launch ends early. The cause is kept already."""

QUIET, UNFIT = 1, 1
"""When an entry point's first argument is QUIET, tensors that do not fit are no error but the status UNFIT."""


def entry_symbol(name: str) -> str:
    """The exported symbol of a function, by the convention of the call path."""
    return f"__tvm_ffi_{name}"


# Launch record, as Python reads it from the memory of the pool.


class LaunchRecord(ctypes.Structure):
    """The launch record of `pool_code`, up to what is read here."""

    _fields_ = [
        ("chunk", ctypes.c_void_p),
        ("packed", ctypes.c_void_p),
        ("total", ctypes.c_int64),
        ("caller", ctypes.c_int64),
        ("next_look_at_signals", ctypes.c_int64),
        ("exception", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("text", ctypes.c_char_p),
        ("where", ctypes.c_int32 * 4),
        ("block_x", ctypes.c_int32),
        ("block_y", ctypes.c_int32),
        ("stopped", ctypes.c_int32),
        ("apart", ctypes.c_char * 64),
        ("next_block", ctypes.c_int64),
        ("identity", ctypes.c_char_p),
        ("block_bytes", ctypes.c_int64),
        ("cooperation", ctypes.c_int32 * 4),
        ("last_stop", ctypes.c_void_p),
        ("unused", ctypes.c_char * 16),
        ("is_waiting", ctypes.c_int32),
        ("waiting", ctypes.c_int32 * WAITING_WORDS),
        ("epoch", ctypes.c_int64),  # above the lowest 24 bits: it changes whenever a block gets on
    ]


# Sizes of memory that launches, blocks and host functions must agree on.

ALIGNMENT = 64
"""Of everything that compiled code allocates: a line of the cache, and the widest vector register."""
SHARED_ALIGNMENT = 1024
"""Of the shared memory of a block: what the largest swizzle permutes in itself."""
STACK_BYTES = 1 << 16
"""What a function may take of the stack of whoever calls it: threads may have 256 KiB."""


def padded(size: int) -> int:
    """The bytes that something takes where the next one is to be aligned."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def padded_value(builder: Builder, size: Value, alignment: int = ALIGNMENT) -> Value:
    """As `padded`, of a number (i64) that is known at run time."""
    more = builder.value("arith.addi", (size, builder.constant(alignment - 1, "i64")), "i64")
    return builder.value("arith.andi", (more, builder.constant(-alignment, "i64")), "i64")

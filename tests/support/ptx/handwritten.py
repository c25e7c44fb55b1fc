"""Kernels of a few instructions that a test writes by hand, and the memory that they work on."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from triptych.ptxsim.clusters import Order
from triptych.ptxsim.driver import NumpyDriver
from triptych.ptxsim.memory import Room
from triptych.ptxsim.operands import Dims
from triptych.ptxsim.tensor_maps import BYTES, ELEMENTS

_TEXT = """
.version 8.6
.target sm_90a
.extern .shared .align 1024 .b8 room[];
.visible .entry test({parameters})
{{
    .reg .pred %p<20>;
    .reg .b16 %h<10>;
    .reg .b32 %r<300>;
    .reg .b64 %d<40>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, room;
{body}
    ret;
}}
"""


class Handwritten:
    """A GPU. In a kernel's text `%r0` is the thread's number, `%r1` where shared memory begins, `p0`, `p1`, ... are
    the arguments: addresses, numbers, and tensor maps."""

    def __init__(self, order: Order = "late") -> None:
        self._driver = NumpyDriver(order=order)
        self.gpu = self._driver.gpu

    def array(self, values: Any) -> Room:
        """Memory with some numbers in it."""
        data = np.ascontiguousarray(values)
        room = self.gpu.memory.allocate(data.nbytes)
        room.bytes[0, : data.nbytes] = data.reshape(-1).view(np.uint8)
        return room

    def values(self, room: Room, like: Any) -> Any:
        """The numbers of a memory, as many and of the type as these."""
        return room.bytes[0, : like.nbytes].view(like.dtype).reshape(like.shape).copy()

    def encode(
        self,
        base: int,
        dtype: Any,
        extents: Sequence[int],
        strides: Sequence[int],
        box: Sequence[int],
        *,
        swizzle: int = 0,
        steps: Sequence[int] | None = None,
        fill: int = 0,
        promotion: int = 0,
    ) -> tuple[int, bytes]:
        """`cuTensorMapEncodeTiled`: its status, and the map."""
        buffer = (ctypes.c_uint8 * (BYTES + 64))()
        place = -(-ctypes.addressof(buffer) // 64) * 64
        kind = next(i for i, each in enumerate(ELEMENTS) if np.dtype(each) == np.dtype(dtype))
        rank = len(extents)
        status = self._driver.cuTensorMapEncodeTiled(
            place,
            kind,
            rank,
            base,
            (ctypes.c_uint64 * max(rank, 1))(*extents),
            (ctypes.c_uint64 * max(rank, 1))(*strides),
            (ctypes.c_uint32 * max(rank, 1))(*box),
            (ctypes.c_uint32 * max(rank, 1))(*(steps or [1] * rank)),
            0,
            swizzle,
            promotion,
            fill,
        )
        return int(status), ctypes.string_at(place, BYTES)

    def map(self, room: Room, values: Any, box: Sequence[int], *, swizzle: int = 0, fill: int = 0) -> bytes:
        """Of an array in the order of C; the box is the innermost dimension first."""
        extents = tuple(reversed(values.shape))
        strides = tuple(reversed(values.strides))[1:]
        status, data = self.encode(room.base, values.dtype, extents, strides, box, swizzle=swizzle, fill=fill)
        assert status == 0
        return data

    def run(
        self,
        body: str,
        *arguments: Room | bytes | int,
        threads: int = 32,
        grid: Dims = (1, 1, 1),
        cluster: Sequence[int] = (),
        shared: int = 16384,
    ) -> None:
        maps = [f".param .align 64 .b8 p{i}[128]" for i in range(len(arguments))]
        words = [f".param .u64 p{i}" for i in range(len(arguments))]
        kinds = [maps[i] if isinstance(each, bytes) else words[i] for i, each in enumerate(arguments)]
        loaded = self.gpu.load(_TEXT.format(parameters=", ".join(kinds), body=body))
        given = [each.base if isinstance(each, Room) else each for each in arguments]
        packed = [each.to_bytes(8, "little") if isinstance(each, int) else each for each in given]
        loaded.launch("test", grid, (threads, 1, 1), shared, packed, cluster)


ORDERS: tuple[Order, ...] = ("late", "early", 0, 1)
WAIT = """
{{
    .reg .pred done;
again:
    mbarrier.try_wait.parity.shared::cta.b64 done, [{barrier}], {parity};
    @!done bra again;
}}
"""
OUT = "ld.param.u64 %d0, [p0]; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;"


def wait(barrier: str = "%r1", parity: int = 0) -> str:
    return WAIT.format(barrier=barrier, parity=parity)


def first(body: str, number: int = 0) -> str:
    """By one thread of a block."""
    return f"{{ .reg .pred others; setp.ne.u32 others, %r0, {number}; @others bra over; {body} over: }}"

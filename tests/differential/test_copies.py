"""Tiled copies by drawn threads, values and layouts move every element to its place: on the CPU, and as PTX.

Global memory to shared memory by one tiling, and back by another one; shared memory may be padded or swizzled. PTX runs
on the PTX simulator, which refuses an access that is not aligned.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import triptych as tt
from tests.differential.seeded_runs import DRAWN
from tests.support.examples import examples
from tests.support.ptx.unified import numpy_gpu
from tests.unit.cute.array_memory import aligned
from tests.unit.targets.nvptx.tools import HAS_ASSEMBLER, needs_assembler
from triptych import cute
from triptych.cute.nvgpu import CopyUniversalOp
from triptych.cute.runtime import from_dlpack

MACHINES: list[Callable[[], AbstractContextManager[Any]]] = [
    nullcontext,
    *([partial(numpy_gpu, "sm_80"), partial(numpy_gpu, "sm_100a")] if HAS_ASSEMBLER else []),
]
TYPES = {tt.Int8: np.int8, tt.Float16: np.float16, tt.Float32: np.float32, tt.Float64: np.float64}
MOST = 64
"""Elements of a thread: copies are written out."""
POWERS = st.sampled_from([1, 2, 4, 8])


@st.composite
def tilings(draw: st.DrawFn, threads: int) -> Any:
    """Threads and values of each along two modes, both in any order."""
    along = draw(st.sampled_from([n for n in (1, 2, 4, 8, 16, 32, 64) if n <= threads]))
    orders = st.sampled_from([(0, 1), (1, 0)])
    return (along, threads // along), draw(orders), (draw(POWERS), draw(POWERS)), draw(orders)


@st.composite
def programs(draw: st.DrawFn) -> Any:
    threads = draw(st.sampled_from([32, 64]))
    there, back = draw(tilings(threads)), draw(tilings(threads))
    extents = [np.lcm(*(a * b for a, b in ((t[0][mode], t[2][mode]) for t in (there, back)))) for mode in (0, 1)]
    shape = tuple(int(extent) * draw(st.sampled_from([1, 1, 2])) for extent in extents)
    assume(shape[0] * shape[1] <= MOST * threads)
    return threads, there, back, shape, draw(st.sampled_from([(0, 1), (1, 0)])), draw(st.sampled_from(SHARED))


SHARED = [
    *((order, pad, None) for order in ((0, 1), (1, 0)) for pad in (0, 1, 4)),
    *((order, 0, bits) for order in ((0, 1), (1, 0)) for bits in ((1, 3, 3), (2, 2, 4), (3, 4, 3))),
]
"""The order of modes, elements between them, and a swizzle."""


def tiled(tiling: Any, dtype: Any) -> cute.TiledCopy:
    threads, thread_order, values, value_order = tiling
    atom = cute.make_copy_atom(CopyUniversalOp(), dtype)
    lie = cute.make_ordered_layout(threads, thread_order)
    return cute.make_tiled_copy_tv(atom, lie, cute.make_ordered_layout(values, value_order))


@tt.kernel
def move(source: cute.Tensor, target: cute.Tensor, program: tt.Constexpr[Any]) -> None:
    _, there, back, shape, _, (order, pad, swizzle) = program
    thread, _, _ = cute.arch.thread_idx()
    first = order.index(0)
    step = shape[first] + pad
    stride = (1, step) if first == 0 else (step, 1)
    layout: Any = cute.make_layout(shape, stride=stride)
    if tt.const_expr(swizzle is not None):
        layout = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, layout)
    shared = cute.SmemAllocator().allocate_tensor(source.element_type, layout, 128)
    copy = tiled(there, source.element_type)
    mine = copy.get_slice(thread)
    cute.copy(copy, mine.partition_S(source), mine.partition_D(shared))
    cute.arch.sync_threads()
    copy = tiled(back, source.element_type)
    mine = copy.get_slice(thread)
    part = mine.partition_S(shared)
    held = cute.make_fragment_like(part)
    cute.autovec_copy(part, held)
    cute.copy(copy, held, mine.partition_D(target))


@tt.jit
def moved(source: cute.Tensor, target: cute.Tensor, program: tt.Constexpr[Any]) -> None:
    move(source, target, program).launch(grid=1, block=program[0])


def array(shape: tuple[int, int], order: tuple[int, int], dtype: Any) -> Any:
    """Memory that begins at a multiple of 64 bytes, seen with this mode first."""
    flat = aligned(shape[0] * shape[1], TYPES[dtype])
    return flat.reshape(shape[::-1]).T if order == (0, 1) else flat.reshape(shape)


@examples(25, DRAWN)
@given(programs(), st.sampled_from(list(TYPES)), st.sampled_from([4, 8, 16, 32]))
def test_every_element_arrives(program: Any, dtype: Any, alignment: int) -> None:
    shape, order = program[3], program[4]
    source, target = (array(shape, order, dtype) for _ in range(2))
    source[:] = np.arange(source.size).reshape(shape) % 127
    for machine in MACHINES:
        target[:] = -1
        with machine():
            moved(*(from_dlpack(each, assumed_align=alignment) for each in (source, target)), program)
        np.testing.assert_array_equal(target, source)


@needs_assembler
def test_elements_at_the_end_of_padded_shared_memory_arrive() -> None:
    """LLVM loads a word of shared memory whose last byte lies behind the end, and does not use that byte."""
    tiled = ((1, 32), (0, 1), (1, 1), (0, 1)), ((4, 8), (0, 1), (4, 4), (0, 1))
    program = (32, *tiled, (16, 32), (0, 1), ((0, 1), 1, None))
    source, target = (array((16, 32), (0, 1), tt.Int8) for _ in range(2))
    source[:] = np.arange(source.size).reshape(16, 32) % 127
    with numpy_gpu("sm_80"):
        moved(*(from_dlpack(each, assumed_align=4) for each in (source, target)), program)
    np.testing.assert_array_equal(target, source)

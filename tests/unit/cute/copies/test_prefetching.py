"""Prefetching asks for every cache line that a copy will read, hardly more than once, and changes no result."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from tests.unit.cute.array_memory import aligned
from tests.unit.targets.nvptx.tools import needs_assembler, needs_disassembler
from triptych import cute
from triptych.cute.copies.dispatch import LINE, one_of_each_line
from triptych.cute.nvgpu import CopyUniversalOp
from triptych.cute.runtime import from_dlpack, make_fake_tensor
from triptych.cute.tracing.errors import StaticTensorError


# which elements -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bits", [4, 8, 16, 32, 64])
@pytest.mark.parametrize("alignment", [8, 16, 64, 128, 512])
def test_every_line_is_asked_for(bits: int, alignment: int) -> None:
    draw, size = random.Random(bits * alignment), max(1, bits // 8)
    for _ in range(300):
        first, step = draw.randrange(200), draw.choice([1, 2, 5, 40])
        places = [first + step * i for i in range(draw.randrange(1, 200))]
        chosen = one_of_each_line(places, bits, alignment)
        assert chosen == sorted(set(chosen))
        assert set(chosen) <= set(places)
        for base in range(0, 4 * LINE, alignment):
            touched = {(base + place * bits // 8 + size - 1) // LINE for place in places}
            touched |= {(base + place * bits // 8) // LINE for place in places}
            assert {(base + place * bits // 8) // LINE for place in chosen} == touched
            assert len(chosen) <= (1 if step * bits <= 8 * size else 2) * len(touched) + 1


def test_a_piece_within_its_alignment_is_one_line() -> None:
    assert one_of_each_line(range(8), 16, 16) == [0]
    assert one_of_each_line(range(64), 32, 128) == [0, 32]
    assert one_of_each_line(range(64), 32, 16) == [0, 32, 63]


# kernels ------------------------------------------------------------------------------------------------------------
EACH = 64


@tt.kernel
def doubled_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
    """Every thread has 64 elements of each of two rows, and asks for the second while it works on the first."""
    thread, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((1, 32)), cute.make_layout((1, EACH)))
    part = copy.get_slice(thread)
    rows = [cute.local_tile(x, (1, 32 * EACH), (row, 0)) for row in range(2)]
    cute.prefetch(copy, part.partition_S(rows[1]))
    for row in tt.range_constexpr(2):
        source, target = part.partition_S(rows[row]), part.partition_D(cute.local_tile(y, (1, 32 * EACH), (row, 0)))
        held = cute.make_fragment_like(target)
        cute.copy(copy, source, held)
        held.store(held.load() * 2)
        cute.copy(copy, held, target)


@tt.jit
def doubled(x: cute.Tensor, y: cute.Tensor) -> None:
    doubled_kernel(x, y).launch(grid=1, block=32)


def test_results_are_the_same() -> None:
    x, y = (aligned(2 * 32 * EACH, np.float32).reshape(2, -1) for _ in range(2))
    x[:] = np.arange(x.size).reshape(x.shape)
    doubled(from_dlpack(x, assumed_align=16), from_dlpack(y, assumed_align=16))
    np.testing.assert_array_equal(y, 2 * x)


def compiled(dtype: Any = tt.Float32, align: int = 16, architecture: str = "sm_80") -> Any:
    like = make_fake_tensor(dtype, (2, 32 * EACH), (32 * EACH, 1), assumed_align=align)
    return tt.compile(doubled, like, like, target=f"nvptx:{architecture}")


@needs_assembler
@pytest.mark.parametrize(
    ("dtype", "align", "lines"), [(tt.Float32, 128, 2), (tt.Float32, 16, 3), (tt.Float16, 128, 1), (tt.Float16, 16, 2)]
)
def test_one_instruction_for_each_line(dtype: Any, align: int, lines: int) -> None:
    ptx = compiled(dtype, align).__ptx__
    assert len(re.findall(r"prefetch\.global\.L2 \[%rd\d+\];", ptx)) == lines
    assert ptx.count("prefetch") == lines


@needs_assembler
@needs_disassembler
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_100a"])
def test_gpus_have_the_instruction(architecture: str) -> None:
    sass = compiled(architecture=architecture).__sass__
    assert len(re.findall(r"CCTL\.E\.PF2 \[R\d+(?:\.64)?\+0x2[01][\da-f]+\]", sass)) == 3


@tt.kernel
def of_other_memories_kernel(out: cute.Tensor) -> None:
    atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float32)
    cute.prefetch(atom, cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout((64,)), 16))
    cute.prefetch(atom, cute.make_rmem_tensor((64,), tt.Float32))


@tt.kernel
def of_unknown_size_kernel(out: cute.Tensor) -> None:
    cute.prefetch(cute.make_copy_atom(CopyUniversalOp(), tt.Float32), out)


@tt.jit
def launched(kernel: tt.Constexpr[Any], out: cute.Tensor) -> None:
    kernel(out).launch(grid=1, block=32)


def test_memories_without_this_cache_are_left_alone() -> None:
    assert "prefetch" not in traced_ir(launched, of_other_memories_kernel, np.zeros(64, np.float32))


def test_how_much_is_known_while_tracing() -> None:
    dynamic = from_dlpack(np.zeros(64, np.float32)).mark_layout_dynamic()
    with pytest.raises(StaticTensorError, match="known while tracing"):
        traced_ir(launched, of_unknown_size_kernel, dynamic)

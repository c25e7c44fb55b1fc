"""Products of warps with block scales, against NumPy: exact for whole-numbered data, to a bound for any."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import triptych as tt
from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.cute.nvgpu import warp
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import MatrixOperandError, UnknownMatrixInstructionError
from triptych.objectstage.device_errors import ArchitectureError
from triptych.support.config import override
from triptych.utils import blackwell_helpers, blockscaled_layout

pytestmark = pytest.mark.cpu
Array = npt.NDArray[Any]
ROWS, COLUMNS, DEPTH = 32, 32, 128
CHUNK_ROWS = 128
NUMBERS: dict[Any, Any] = {
    tt.Float4E2M1FN: ml_dtypes.float4_e2m1fn,
    tt.Float8E4M3FN: ml_dtypes.float8_e4m3fn,
    tt.Float8E5M2: ml_dtypes.float8_e5m2,
    tt.Float8E8M0FNU: ml_dtypes.float8_e8m0fnu,
}
FOUR, E4M3, E5M2, E8M0 = NUMBERS
OPS: dict[str, Any] = {
    "mxf8 e4m3": warp.MmaMXF8Op(E4M3, tt.Float32, E8M0),
    "mxf8 e5m2": warp.MmaMXF8Op(E5M2, tt.Float32, E8M0),
    "mxf4": warp.MmaMXF4Op(FOUR, tt.Float32, E8M0),
    "nvf4": warp.MmaMXF4NVF4Op(FOUR, tt.Float32, E4M3),
    "e2m1 with e4m3": warp.MmaMXF8F6F4Op(FOUR, E4M3, tt.Float32, E8M0),
    "e5m2 with e2m1": warp.MmaMXF8F6F4Op(E5M2, FOUR, tt.Float32, E8M0),
}


@tt.kernel
def scaled_kernel(
    a: cute.Tensor, b: cute.Tensor, sfa: cute.Tensor, sfb: cute.Tensor, d: cute.Tensor, tiled_mma: cute.TiledMma
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    part = tiled_mma.get_slice(thread)
    left, right = part.partition_A(a), part.partition_B(b)
    frag_a, frag_b = tiled_mma.make_fragment_A(left), tiled_mma.make_fragment_B(right)
    cute.autovec_copy(left, frag_a)
    cute.autovec_copy(right, frag_b)
    scales_a = blackwell_helpers.partition_fragment_SFA(sfa, part, thread)
    scales_b = blackwell_helpers.partition_fragment_SFB(sfb, part, thread)
    one = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), sfa.element_type)
    m, n, k = (tiled_mma.get_tile_size(mode) for mode in range(3))
    copy_a = cute.make_tiled_copy(one, blackwell_helpers.get_layoutSFA_TV(tiled_mma), (m, k)).get_slice(thread)
    copy_b = cute.make_tiled_copy(one, blackwell_helpers.get_layoutSFB_TV(tiled_mma), (n, k)).get_slice(thread)
    cute.copy(one, cute.filter_zeros(copy_a.partition_S(sfa)), cute.filter_zeros(copy_a.retile(scales_a)))
    cute.copy(one, cute.filter_zeros(copy_b.partition_S(sfb)), cute.filter_zeros(copy_b.retile(scales_b)))
    result = part.partition_C(d)
    sums = tiled_mma.make_fragment_C(result)
    sums.fill(1.0)
    for block in tt.range_constexpr(cute.size(frag_a, mode=[2])):
        cute.gemm(
            tiled_mma,
            sums,
            [frag_a[None, None, block], scales_a[None, None, block]],
            [frag_b[None, None, block], scales_b[None, None, block]],
            sums,
        )
    cute.autovec_copy(sums, result)


@tt.jit
def scaled(
    a: cute.Tensor, b: cute.Tensor, sfa: cute.Tensor, sfb: cute.Tensor, d: cute.Tensor, op: tt.Constexpr[Any]
) -> None:
    depth = op.shape_mnk[2]
    permutation = blackwell_helpers.get_permutation_mnk((ROWS, COLUMNS, DEPTH), op.sf_vec_size, depth == 32)
    tiled_mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=permutation)
    left, right = _matrix(a, op.held_dtype("A"), ROWS), _matrix(b, op.held_dtype("B"), COLUMNS)
    stages = (
        blockscaled_layout.sm120_make_smem_layout_sfa(tiled_mma, (ROWS, COLUMNS, DEPTH), op.sf_vec_size, 1),
        blockscaled_layout.sm120_make_smem_layout_sfb(tiled_mma, (ROWS, COLUMNS, DEPTH), op.sf_vec_size, 1),
    )
    scales = [
        cute.local_tile(
            cute.make_tensor(cute.recast_ptr(given.iterator, dtype=op.sf_dtype), layout)[None, None, 0],
            (ROWS, DEPTH),
            (0, 0),
        )
        for given, layout in zip((sfa, sfb), stages)  # noqa: B905  (traced code)
    ]
    scaled_kernel(left, right, scales[0], scales[1], d, tiled_mma).launch(grid=1, block=128)


def _matrix(memory: cute.Tensor, dtype: Any, rows: int) -> cute.Tensor:
    layout = cute.make_layout((rows, DEPTH), stride=(DEPTH, 1))
    return cute.make_tensor(cute.recast_ptr(memory.iterator, dtype=dtype), layout)


def operand(op: Any, side: str, patterns: Array) -> tuple[Array, Array]:
    """The numbers of bit patterns, and the bytes of memory that hold them as the instruction wants."""
    dtype = op.a_dtype if side == "A" else op.b_dtype
    if dtype.width == 8:
        return patterns.view(NUMBERS[dtype]).astype(np.float64), patterns
    numbers = (patterns & 15).view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    if op.held_dtype(side).width == 8:
        return numbers, (patterns & 15) << 2
    return numbers, (patterns[:, ::2] & 15) | (patterns[:, 1::2] & 15) << 4


def scales(op: Any, patterns: Array) -> tuple[Array, Array]:
    """The factor of each element, and the bytes of memory."""
    numbers = patterns.view(NUMBERS[op.sf_dtype]).astype(np.float64)
    layout = blockscaled_layout.tile_atom_to_shape_SF((ROWS, DEPTH, 1), op.sf_vec_size)
    memory = np.zeros(CHUNK_ROWS * patterns.shape[1], np.uint8)
    for row, block in np.ndindex(*patterns.shape):
        memory[layout((row, block * op.sf_vec_size, 0))] = patterns[row, block]
    return np.repeat(numbers, op.sf_vec_size, axis=1), memory


def computed(name: str, patterns: list[Array]) -> tuple[Array, Array, Array]:
    """The result, what it should be in float64, and the sum of the magnitudes that were added."""
    op = OPS[name]
    (a, a_bytes), (b, b_bytes) = operand(op, "A", patterns[0]), operand(op, "B", patterns[1])
    (sfa, sfa_bytes), (sfb, sfb_bytes) = scales(op, patterns[2]), scales(op, patterns[3])
    d = np.zeros((ROWS, COLUMNS), np.float32)
    memory = [from_dlpack(array, assumed_align=16) for array in (a_bytes, b_bytes, sfa_bytes, sfb_bytes, d)]
    scaled(*memory, op)
    left, right = a * sfa, b * sfb
    return d, left @ right.T + 1, np.abs(left) @ np.abs(right).T + 1


def whole_numbers(op: Any) -> list[Array]:
    """Bit patterns of small whole numbers, and of powers of two for scales."""
    random = np.random.default_rng(7)
    whole = {
        dtype: np.array([0, 1, 2, 3, -1, -2], np.float32).astype(NUMBERS[dtype]).view(np.uint8)
        for dtype in (FOUR, E4M3, E5M2)
    }
    powers = np.array([1, 2, 4, 8], np.float32).astype(NUMBERS[op.sf_dtype]).view(np.uint8)
    patterns = [random.choice(whole[dtype], (ROWS, DEPTH)) for dtype in (op.a_dtype, op.b_dtype)]
    return patterns + [random.choice(powers, blocks(op)) for _ in range(2)]


def blocks(op: Any) -> tuple[int, int]:
    return ROWS, DEPTH // op.sf_vec_size


@pytest.mark.parametrize("name", OPS)
def test_whole_numbers_are_exact(name: str) -> None:
    found, expected, _ = computed(name, whole_numbers(OPS[name]))
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@needs_assembler
@pytest.mark.parametrize("name", OPS)
def test_the_same_bits_as_ptx(name: str) -> None:
    with numpy_gpu("sm_120a"):
        found, expected, _ = computed(name, whole_numbers(OPS[name]))
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@needs_assembler
def test_an_instruction_for_each_tile() -> None:
    op = OPS["nvf4"]
    memory = [from_dlpack(np.zeros(size, np.uint8), assumed_align=16) for size in (2048, 2048, 1024, 1024)]
    sums = from_dlpack(np.zeros((ROWS, COLUMNS), np.float32), assumed_align=16)
    with override(target="nvptx:sm_120a"):
        ptx = cute.compile(scaled, *memory, sums, op).__ptx__
    kind = "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    assert ptx.count(f"mma.sync.aligned.m16n8k64.row.col.{kind}") == 2 * DEPTH // 64


@pytest.mark.parametrize("architecture", ["sm_90a", "sm_100a", "sm_103a"])
def test_other_gpus_have_no_such_instruction(architecture: str) -> None:
    op = OPS["mxf4"]
    memory = [from_dlpack(np.zeros(size, np.uint8), assumed_align=16) for size in (2048, 2048, 512, 512)]
    sums = from_dlpack(np.zeros((ROWS, COLUMNS), np.float32), assumed_align=16)
    with override(target=f"nvptx:{architecture}"), pytest.raises(ArchitectureError, match=f"{architecture} has no"):
        cute.compile(scaled, *memory, sums, op)


@pytest.mark.parametrize("name", OPS)
def test_any_numbers_within_the_bound_of_a_sum(name: str) -> None:
    """All patterns that are numbers. K roundings of sums of magnitudes, each of half a unit in the last place."""
    op, random = OPS[name], np.random.default_rng(11)

    def finite(dtype: Any, shape: tuple[int, int]) -> Array:
        every = np.arange(16 if dtype is FOUR else 256, dtype=np.uint8)
        numbers = every.view(NUMBERS[dtype]).astype(np.float32)
        kept = every[np.isfinite(numbers) & (np.abs(numbers) < 2.0**40) & (np.abs(numbers) > 2.0**-40)]
        return random.choice(kept[kept < 128] if dtype is op.sf_dtype and dtype is E4M3 else kept, shape)

    patterns = [finite(dtype, (ROWS, DEPTH)) for dtype in (op.a_dtype, op.b_dtype)]
    patterns += [finite(op.sf_dtype, blocks(op)) for _ in range(2)]
    found, expected, magnitudes = computed(name, patterns)
    assert (np.abs(found - expected) <= 2 * DEPTH * 2.0**-24 * magnitudes).all()


def test_scales_that_are_far_apart_meet_before_the_sum() -> None:
    """2**120 of A and 2**-120 of B are a factor of 1, whatever A is multiplied by alone."""
    op = OPS["mxf8 e5m2"]
    three = np.full((ROWS, DEPTH), 3, np.float32).astype(ml_dtypes.float8_e5m2).view(np.uint8)
    large, small = (np.full(blocks(op), 127 + power, np.uint8) for power in (120, -120))
    found, _, _ = computed("mxf8 e5m2", [three, three, large, small])
    np.testing.assert_array_equal(found, 9 * DEPTH + 1)


def test_no_number_of_a_scale_is_no_number_of_its_row() -> None:
    op = OPS["mxf4"]
    ones = np.full((ROWS, DEPTH), 2, np.uint8)
    of_a = np.full(blocks(op), 127, np.uint8)
    of_a[5, 1] = 255
    found, expected, _ = computed("mxf4", [ones, ones, of_a, np.full(blocks(op), 127, np.uint8)])
    assert np.isnan(found[5]).all()
    np.testing.assert_array_equal(np.delete(found, 5, 0), np.delete(expected, 5, 0))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: warp.MmaMXF8Op(FOUR, tt.Float32, E8M0), "Float4E2M1FN into Float32"),
        (lambda: warp.MmaMXF4Op(FOUR, tt.Float32, E4M3), "scales of Float8E4M3FN"),
        (lambda: warp.MmaMXF4NVF4Op(FOUR, tt.Float16, E4M3), "into Float16"),
        (lambda: warp.MmaMXF8F6F4Op(E4M3, E5M2, tt.Float32, E8M0), "Float8E4M3FN with Float8E5M2"),
    ],
)
def test_other_types_are_refused(make: Any, text: str) -> None:
    with pytest.raises(UnknownMatrixInstructionError, match=text):
        make()


@tt.kernel
def without_scales(tiled_mma: cute.TiledMma) -> None:
    a, b = tiled_mma.make_fragment_A((32, 1, 1)), tiled_mma.make_fragment_B((16, 1, 1))
    sums = cute.make_rmem_tensor((4, 1, 1), tt.Float32)
    cute.gemm(tiled_mma, sums, a, b, sums)


def test_scales_are_asked_for() -> None:
    @tt.jit
    def launch() -> None:
        without_scales(cute.make_tiled_mma(OPS["mxf4"])).launch(grid=1, block=32)

    with pytest.raises(MatrixOperandError, match="takes both operands with their block scales"):
        launch()

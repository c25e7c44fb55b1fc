"""Idioms of public CuTe DSL programs: once their imports name this package, they run on the CPU as they are.

The programs are our own; what they share with public ones is how they say things.
"""

# mypy: disable-error-code="untyped-decorator, type-arg"
# ruff: noqa: B008 - a stream that a call makes is the default of public programs

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import triptych as cutlass
import triptych.cute as cute
import triptych.cute.testing as testing
import triptych.utils as utils
from triptych import cuda
from triptych.cute.nvgpu import cpasync, warp
from triptych.cute.runtime import from_dlpack, make_ptr

RANDOM = np.random.default_rng(6)


def halves(*shape: int) -> Any:
    """Small integers: sums of their products are exact in every order."""
    return RANDOM.integers(-3, 4, shape).astype(np.float16)


# a function that is applied to every element, with predicates ------------------------------------------------------
@cute.kernel
def apply_kernel(
    operation: cutlass.Constexpr,
    inputs: list[cute.Tensor],
    output: cute.Tensor,
    coordinates: cute.Tensor,
    shape: cute.Shape,
    tv_layout: cute.Layout,
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = ((None, None), block)
    mine = (thread, cute.repeat_like(None, tv_layout[1]))
    given = [cute.composition(tensor[tile], tv_layout)[mine] for tensor in inputs]
    result = cute.composition(output[tile], tv_layout)[mine]
    where = cute.composition(coordinates[tile], tv_layout)[mine]
    inside = cute.make_rmem_tensor(where.shape, cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(inside)):
        inside[i] = cute.elem_less(where[i], shape)
    registers = [cute.make_fragment_like(part) for part in given]
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), output.element_type)
    for source, fragment in zip(given, registers, strict=True):
        cute.basic_copy_if(inside, source, fragment)
    computed = cute.make_fragment_like(result)
    computed.store(operation(*[fragment.load() for fragment in registers]))
    cute.copy(atom, computed, result, pred=inside)


@cute.jit
def apply_to_all(
    operation: cutlass.Constexpr, inputs: list[cute.Tensor], output: cute.Tensor, stream: cuda.CUstream
) -> None:
    tiler, tv_layout = cute.make_layout_tv(cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((2, 4)))
    tiled = [cute.zipped_divide(tensor, tiler) for tensor in inputs]
    out = cute.zipped_divide(output, tiler)
    coordinates = cute.zipped_divide(cute.make_identity_tensor(output.shape), tiler)
    apply_kernel(operation, tiled, out, coordinates, output.shape, tv_layout).launch(
        grid=[cute.size(out, mode=[1]), 1, 1], block=[cute.size(tv_layout, mode=[0]), 1, 1], stream=stream
    )


@pytest.mark.parametrize(
    ("operation", "meaning"),
    [
        (lambda x, y: x + y, np.add),
        (lambda x, y: cute.where(x > y, x, y), np.maximum),
    ],
)
def test_function_of_all_elements(operation: Any, meaning: Any) -> None:
    x, y = (RANDOM.standard_normal((17, 131)).astype(np.float32) for _ in range(2))
    stream = cuda.CUstream(0)
    result = np.full((17, 131), 9, np.float32)
    inputs, output = [from_dlpack(x), from_dlpack(y)], from_dlpack(result).mark_layout_dynamic()
    compiled = cute.compile[cute.GenerateLineInfo](apply_to_all, operation, inputs, output, stream)
    compiled(inputs, output, stream)
    np.testing.assert_array_equal(result, meaning(x, y))
    arguments = testing.JitArguments(inputs, output, stream)
    assert testing.benchmark(compiled, kernel_arguments=arguments, warmup_iterations=1, iterations=2) > 0


# a matrix product as a class: its call launches its kernel ---------------------------------------------------------
class Product:
    """C = epilogue(A B^T) by tensor cores, for K in steps of 32 and whole tiles of M and N."""

    def __init__(self, acc_dtype: type[cutlass.Numeric] = cutlass.Float32) -> None:
        self.acc_dtype = acc_dtype
        self.tile = (32, 32, 32)

    @cute.jit
    def __call__(
        self,
        a: cute.Tensor,
        b: cute.Tensor,
        c: cute.Tensor,
        epilogue_op: cutlass.Constexpr = lambda x: x,
        stream: cuda.CUstream = cuda.CUstream(cuda.CUstream_flags.CU_STREAM_DEFAULT),
    ) -> None:
        self.c_order = utils.LayoutEnum.from_tensor(c)
        width = 8 if cutlass.const_expr(a.layout[1].max_alignment % 8 == 0) else 1
        operation = warp.MmaF16BF16Op(a.element_type, self.acc_dtype, (16, 8, 16))
        tiled_mma = cute.make_tiled_mma(operation, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), a.element_type, num_bits_per_copy=16 * width)
        threads = cute.make_layout((128 * width // 32, 32 // width), stride=(32 // width, 1))
        tiled_copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, width)))
        swizzled = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
        smem_layout = cute.tile_to_shape(swizzled, (32, 32), (0, 1))
        grid = cute.ceil_div((*c.shape, 1), (32, 32, 1))
        self.kernel(a, b, c, smem_layout, tiled_copy, tiled_mma, epilogue_op).launch(
            grid=grid, block=[tiled_mma.size, 1, 1], stream=stream
        )

    @cute.kernel
    def kernel(
        self,
        a: cute.Tensor,
        b: cute.Tensor,
        c: cute.Tensor,
        smem_layout: cute.ComposedLayout,
        tiled_copy: cute.TiledCopy,
        tiled_mma: cute.TiledMma,
        epilogue_op: cutlass.Constexpr,
    ) -> None:
        thread, _, _ = cute.arch.thread_idx()
        row, column, _ = cute.arch.block_idx()
        coordinate = (row, column, None)
        g_a = cute.local_tile(a, self.tile, coordinate, proj=(1, None, 1))
        g_b = cute.local_tile(b, self.tile, coordinate, proj=(None, 1, 1))
        g_c = cute.local_tile(c, self.tile, coordinate, proj=(1, 1, None))
        allocator = utils.SmemAllocator()
        s_a = allocator.allocate_tensor(a.element_type, smem_layout, 16)
        s_b = allocator.allocate_tensor(b.element_type, smem_layout, 16)
        thr_copy, thr_mma = tiled_copy.get_slice(thread), tiled_mma.get_slice(thread)
        r_a = tiled_mma.make_fragment_A(thr_mma.partition_A(s_a))
        r_b = tiled_mma.make_fragment_B(thr_mma.partition_B(s_b))
        r_c = tiled_mma.make_fragment_C(thr_mma.partition_C(g_c))
        r_c.fill(0.0)
        matrices = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), a.element_type)
        load_a = cute.make_tiled_copy_A(matrices, tiled_mma)
        load_b = cute.make_tiled_copy_B(matrices, tiled_mma)
        for k in cutlass.range(cute.size(g_a, mode=[2]), unroll=1):
            cute.copy(tiled_copy, thr_copy.partition_S(g_a[None, None, k]), thr_copy.partition_D(s_a))
            cute.copy(tiled_copy, thr_copy.partition_S(g_b[None, None, k]), thr_copy.partition_D(s_b))
            cute.arch.cp_async_commit_group()
            cute.arch.cp_async_wait_group(0)
            cute.arch.sync_threads()
            thr_a, thr_b = load_a.get_slice(thread), load_b.get_slice(thread)
            cute.copy(load_a, thr_a.partition_S(s_a), thr_a.retile(r_a))
            cute.copy(load_b, thr_b.partition_S(s_b), thr_b.retile(r_b))
            cute.gemm(tiled_mma, r_c, r_a, r_b, r_c)
            cute.arch.sync_threads()
        out = cute.make_fragment_like(r_c, c.element_type)
        out.store(epilogue_op(r_c.load()).to(c.element_type))
        cute.autovec_copy(out, thr_mma.partition_C(g_c))


def test_matrix_product_of_a_class() -> None:
    a, b, c = halves(64, 96), halves(32, 96), np.zeros((64, 32), np.float16)
    tensors = [from_dlpack(array, assumed_align=16) for array in (a, b, c)]
    for tensor in tensors:
        tensor.mark_layout_dynamic(leading_dim=1)
        tensor.mark_compact_shape_dynamic(mode=1, stride_order=(0, 1), divisibility=8)
    product = Product()
    compiled = cute.compile(product, *tensors, stream=cuda.CUstream(0))
    compiled(*tensors)
    np.testing.assert_array_equal(c, a @ b.T)
    other_a, other_b, other_c = halves(32, 64), halves(96, 64), np.zeros((32, 96), np.float16)
    compiled(other_a, other_b, other_c)
    np.testing.assert_array_equal(other_c, other_a @ other_b.T)
    product(*tensors, epilogue_op=lambda x: cute.where(x > 0, x, cute.full_like(x, 0)))
    np.testing.assert_array_equal(c, np.maximum(a @ b.T, 0))


# parameters in a namespace, one of which a loop changes ------------------------------------------------------------
class RowSoftmax:
    """The softmax of rows, block by block from the last to the first, rescaled when a larger number turns up."""

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor, scale: cutlass.Float32) -> None:
        self.kernel(x, y, scale * math.log2(math.e)).launch(grid=[1, 1, 1], block=[cute.size(x, mode=[0]), 1, 1])

    @cute.kernel
    def kernel(self, x: cute.Tensor, y: cute.Tensor, scale_log2: cutlass.Float32) -> None:
        thread, _, _ = cute.arch.thread_idx()
        state = cute.make_rmem_tensor(2, cutlass.Float32)
        state[0] = -cutlass.Float32.inf
        state[1] = cutlass.Float32.zero
        blocks = cute.ceil_div(cute.size(x, mode=[1]), 4)
        basic_params = SimpleNamespace(block=blocks - 1, row=thread, x=x)
        softmax_params = SimpleNamespace(state=state, scale_log2=scale_log2)
        for step in range(0, blocks, 1):
            basic_params.block = blocks - step - 1
            self.take_block(basic_params, softmax_params)
        for column in range(cute.size(x, mode=[1])):
            y[thread, column] = cute.math.exp2(x[thread, column] * scale_log2 - state[0], fastmath=True) / state[1]

    @cute.jit
    def take_block(self, basic_params: SimpleNamespace, softmax_params: SimpleNamespace) -> None:
        state, scale_log2 = softmax_params.state, softmax_params.scale_log2
        for i in cutlass.range_constexpr(4):
            column = basic_params.block * 4 + i
            if cute.elem_less((column,), (basic_params.x.shape[1],)):
                value = basic_params.x[basic_params.row, column] * scale_log2
                largest = cute.arch.fmax(state[0], value)
                state[1] = state[1] * cute.math.exp2(state[0] - largest) + cute.math.exp2(value - largest)
                state[0] = largest


def test_namespace_that_a_loop_changes() -> None:
    x = RANDOM.standard_normal((32, 11)).astype(np.float32)
    y = np.zeros_like(x)
    cute.compile(RowSoftmax(), x, y, 0.5)(x, y, 0.5)
    expected = np.exp(0.5 * x.astype(np.float64))
    np.testing.assert_allclose(y, expected / expected.sum(axis=1, keepdims=True), rtol=2e-6)


# an object with the argument protocol of public programs ------------------------------------------------------------
class Buffer:
    """A pointer with the order of the modes of what it points to."""

    def __init__(self, ptr: Any, stride_order: tuple[int, ...]) -> None:
        self.ptr = ptr
        self.stride_order = stride_order

    def to_tensor(self, shape: Any, *, loc: Any = None, ip: Any = None) -> Any:
        return cute.make_tensor(self.ptr, cute.make_ordered_layout(shape, self.stride_order), loc=loc, ip=ip)  # type: ignore[call-arg]

    def __c_pointers__(self) -> Any:
        return self.ptr.__c_pointers__()

    def __get_mlir_types__(self) -> Any:
        return self.ptr.__get_mlir_types__()

    def __extract_mlir_values__(self) -> Any:
        return self.ptr.__extract_mlir_values__()

    def __new_from_mlir_values__(self, values: Any) -> Buffer:
        return Buffer(self.ptr.__new_from_mlir_values__(values), self.stride_order)


@cute.kernel
def scale_kernel(buffer: Buffer, factor: cutlass.Float32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    tensor = buffer.to_tensor((4, 8))
    tensor[thread // 8, thread % 8] = tensor[thread // 8, thread % 8] + factor * (thread // 8)


@cute.jit
def scale_rows(buffer: Buffer, factor: cutlass.Float32) -> None:
    scale_kernel(buffer, factor).launch(grid=[1, 1, 1], block=[32, 1, 1])


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_object_with_the_argument_protocol(order: tuple[int, ...]) -> None:
    array = np.zeros((4, 8) if order == (1, 0) else (8, 4), np.float32)
    pointer = make_ptr(cutlass.Float32, array.ctypes.data, cute.AddressSpace.gmem, assumed_align=4)
    scale_rows(Buffer(pointer, order), 2.0)
    rows = array if order == (1, 0) else array.T
    np.testing.assert_array_equal(rows, 2.0 * np.arange(4)[:, None] * np.ones(8))


# small things ----------------------------------------------------------------------------------------------------
@cutlass.dsl_user_op
def hypotenuse(x: Any, y: Any, *, loc: Any = None, ip: Any = None) -> Any:
    return cute.math.sqrt(x * x + y * y, loc=loc, ip=ip)  # type: ignore[call-arg]


def test_operation_of_the_program_that_passes_its_place_on() -> None:
    @cute.jit
    def length(x: cutlass.Float32) -> Any:
        return hypotenuse(x, x * 0.75, loc=None, ip=None)

    assert length(4.0) == 5.0


def test_default_stream_by_its_flag() -> None:
    assert cuda.CUstream(cuda.CUstream_flags.CU_STREAM_DEFAULT) == cuda.default_stream()


def test_imports_with_the_first_word_replaced() -> None:
    pytest.importorskip("torch")
    program = """
import triptych.torch as cutlass_torch
from triptych.torch import dtype as torch_dtype
from triptych.utils.tensor_helpers import create_cute_tensor_for_fp8, is_fp8_dtype
"""
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["is_fp8_dtype"] is utils.is_fp8_dtype
    assert names["cutlass_torch"].dtype is names["torch_dtype"]

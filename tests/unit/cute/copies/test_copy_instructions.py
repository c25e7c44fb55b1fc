"""Copies by instructions of their own: what is emitted, and that elements arrive where the layouts say.

Elements are their own coordinates, so whatever goes astray is seen.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from tests.unit.cute.array_memory import aligned
from triptych import cute
from triptych.cute.nvgpu import CopyUniversalOp, LoadCacheMode, cpasync, warp
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.device import device_function, device_trace
from triptych.cute.tracing.errors import CopyAlignmentError, CopyLayoutError, CopyMemoryError, TensorShapeError
from triptych.support.config import override

NUMPY = {tt.Float16: np.float16, tt.Float32: np.float32, tt.Int8: np.int8, tt.Float8E4M3FN: np.uint8}


def tensor(rows: int, columns: int, dtype: Any, filled: bool = True) -> Any:
    """Rows that begin at multiples of 16 bytes, each element different as far as the type goes."""
    matrix = aligned(rows * columns, NUMPY[dtype]).reshape(rows, columns)
    if filled:
        matrix[:] = np.arange(rows * columns).reshape(rows, columns) % (2048 if matrix.itemsize == 2 else 127)
    return matrix


def given(matrix: Any) -> Any:
    return from_dlpack(matrix, assumed_align=16)


# matrices of a warp -----------------------------------------------------------------------------------------------
@tt.kernel
def load_kernel(
    source: cute.Tensor, target: cute.Tensor, op: tt.Constexpr[Any], tiled: cute.TiledMma, columns: tt.Constexpr[bool]
) -> None:
    """Global memory to shared memory plainly, to registers as the operation says, and back as the product holds it."""
    thread, _, _ = cute.arch.thread_idx()
    rows, depth = source.shape
    order = (0, 1) if tt.const_expr(columns) else (1, 0)
    layout = cute.make_ordered_layout((rows, depth), order)
    shared = cute.SmemAllocator().allocate_tensor(source.element_type, layout, 16)
    if thread == 0:
        cute.basic_copy(source, shared)
    cute.arch.sync_threads()
    load = cute.make_tiled_copy_A(cute.make_copy_atom(op, source.element_type), tiled)
    mine, part = load.get_slice(thread), tiled.get_slice(thread)
    held = tiled.make_fragment_A(part.partition_A(shared))
    cute.copy(load, mine.partition_S(shared), mine.retile(held))
    cute.autovec_copy(held, part.partition_A(target))


@tt.jit
def load(
    source: cute.Tensor, target: cute.Tensor, op: tt.Constexpr[Any], mma: tt.Constexpr[Any], columns: tt.Constexpr[bool]
) -> None:
    tiled = cute.make_tiled_mma(mma, cute.make_layout((2, 2, 1)))
    source, target = (cute.recast_tensor(tensor, mma.a_dtype) for tensor in (source, target))
    load_kernel(source, target, op, tiled, columns).launch(grid=1, block=128)


HALVES = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
BYTES = warp.MmaI8Op(tt.Int8, tt.Int32, (16, 8, 32))
FP8 = warp.MmaFP8Op(tt.Float8E4M3FN, tt.Float32, (16, 8, 32))


@pytest.mark.usefixtures("every_machine")
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_halves_arrive_where_the_product_looks(transposed: bool, count: int) -> None:
    source, target = tensor(64, 32, tt.Float16), tensor(64, 32, tt.Float16, filled=False)
    op = warp.LdMatrix8x8x16bOp(transposed, count)
    load(given(source), given(target), op, HALVES, transposed)
    np.testing.assert_array_equal(target, source)


@pytest.mark.usefixtures("every_machine")
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("dtype", [tt.Float8E4M3FN, tt.Int8])
def test_bytes_arrive_where_the_product_looks(dtype: Any, count: int) -> None:
    source, target = tensor(64, 64, dtype), tensor(64, 64, dtype, filled=False)
    mma = FP8 if dtype is tt.Float8E4M3FN else BYTES
    load(given(source), given(target), warp.LdMatrix8x16x8bOp(False, count), mma, False)
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("count", [1, 2])
def test_bytes_of_columns_arrive_where_the_product_looks(count: int) -> None:
    source, target = tensor(64, 64, tt.Int8), tensor(64, 64, tt.Int8, filled=False)
    load(given(source), given(target), warp.LdMatrix16x16x8bOp(True, count), BYTES, True)
    np.testing.assert_array_equal(target, source)


@tt.kernel
def store_kernel(source: cute.Tensor, target: cute.Tensor, op: tt.Constexpr[Any], columns: tt.Constexpr[bool]) -> None:
    """Registers as a product holds its sum, to shared memory as the operation says, and out plainly."""
    thread, _, _ = cute.arch.thread_idx()
    tiled = cute.make_tiled_mma(HALVES, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    order = (0, 1) if tt.const_expr(columns) else (1, 0)
    layout = cute.make_ordered_layout(source.shape, order)
    shared = cute.SmemAllocator().allocate_tensor(source.element_type, layout, 16)
    store = cute.make_tiled_copy_C(cute.make_copy_atom(op, source.element_type), tiled)
    mine, part = store.get_slice(thread), tiled.get_slice(thread).partition_C(source)
    held = cute.make_fragment_like(part)
    cute.autovec_copy(part, held)
    cute.copy(store, mine.retile(held), mine.partition_D(shared))
    cute.arch.sync_threads()
    if thread == 0:
        cute.basic_copy(shared, target)


@tt.jit
def store(source: cute.Tensor, target: cute.Tensor, op: tt.Constexpr[Any], columns: tt.Constexpr[bool]) -> None:
    store_kernel(source, target, op, columns).launch(grid=1, block=128)


@pytest.mark.usefixtures("every_machine")
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_sums_are_stored_where_they_belong(transposed: bool, count: int) -> None:
    source, target = tensor(64, 32, tt.Float16), tensor(64, 32, tt.Float16, filled=False)
    store(given(source), given(target), warp.StMatrix8x8x16bOp(transposed, count), transposed)
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("count", [1, 2])
def test_bytes_are_stored_in_columns(count: int) -> None:
    source, target = tensor(64, 32, tt.Int8), tensor(64, 32, tt.Int8, filled=False)
    store(given(source), given(target), warp.StMatrix16x8x8bOp(True, count), True)
    np.testing.assert_array_equal(target, source)


@tt.kernel
def return_kernel(
    source: cute.Tensor, target: cute.Tensor, loads: tt.Constexpr[Any], stores: tt.Constexpr[Any]
) -> None:
    """Registers of a sum to the columns of shared memory by one operation, and back by another."""
    thread, _, _ = cute.arch.thread_idx()
    tiled = cute.make_tiled_mma(HALVES, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 64, 16))
    shared = cute.SmemAllocator().allocate_tensor(tt.Int8, cute.make_ordered_layout(source.shape, (0, 1)), 16)
    part, back = (tiled.get_slice(thread).partition_C(tensor) for tensor in (source, target))
    held, again = cute.make_fragment_like(part), cute.make_fragment_like(back)
    cute.autovec_copy(part, held)
    store, load = (cute.make_tiled_copy_C(cute.make_copy_atom(op, tt.Int8), tiled) for op in (stores, loads))
    cute.copy(store, store.get_slice(thread).retile(held), store.get_slice(thread).partition_D(shared))
    cute.arch.sync_threads()
    cute.copy(load, load.get_slice(thread).partition_S(shared), load.get_slice(thread).retile(again))
    cute.autovec_copy(again, back)


@tt.jit
def return_bytes(source: cute.Tensor, target: cute.Tensor, loads: tt.Constexpr[Any], stores: tt.Constexpr[Any]) -> None:
    return_kernel(source, target, loads, stores).launch(grid=1, block=128)


@pytest.mark.parametrize("count", [2, 4])
def test_bytes_that_were_stored_in_columns_come_back(count: int) -> None:
    source, target = tensor(64, 64, tt.Int8), tensor(64, 64, tt.Int8, filled=False)
    return_bytes(given(source), given(target), warp.LdMatrix16x8x8bOp(True, count), warp.StMatrix16x8x8bOp(True, 4))
    np.testing.assert_array_equal(target, source)


# asynchronous copies ----------------------------------------------------------------------------------------------
@tt.kernel
def fill_kernel(source: cute.Tensor, target: cute.Tensor, copy: cute.TiledCopy, swizzle: tt.Constexpr[Any]) -> None:
    """A tile of 16 rows of 32, of which those that exist are copied; the others become zeros."""
    thread, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((16, 32), stride=(32, 1))
    shared = cute.SmemAllocator().allocate_tensor(source.element_type, layout, 1024, swizzle)
    mine = copy.get_slice(thread)
    tile = cute.local_tile(source, (16, 32), (0, 0))
    where = mine.partition_S(cute.local_tile(cute.make_identity_tensor(source.shape), (16, 32), (0, 0)))
    read, written = mine.partition_S(tile), mine.partition_D(shared)
    rows, columns = cute.size(written, mode=[1]), cute.size(written, mode=[2])
    allowed = cute.make_rmem_tensor(
        cute.make_layout((written.shape[0][1], rows, columns), stride=(rows, 1, 0)), tt.Boolean
    )
    for k in tt.range_constexpr(written.shape[0][1]):
        for m in tt.range_constexpr(rows):
            allowed[k, m, 0] = cute.elem_less(where[(0, k), m, 0][0], source.shape[0])
    written.fill(-1)
    cute.copy(copy, read, written, pred=allowed)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    if thread == 0:
        cute.basic_copy(shared, target)


@tt.jit
def fill(
    source: cute.Tensor,
    target: cute.Tensor,
    bits: tt.Constexpr[int],
    mode: tt.Constexpr[LoadCacheMode],
    swizzle: tt.Constexpr[Any],
) -> None:
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(mode), source.element_type, num_bits_per_copy=bits)
    together = bits // source.element_type.width
    threads = cute.make_layout((32 * together // 32, 32 // together), stride=(32 // together, 1))
    copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, together)))
    fill_kernel(source, target, copy, swizzle).launch(grid=1, block=copy.size)


SIZES = [
    (32, LoadCacheMode.ALWAYS),
    (64, LoadCacheMode.ALWAYS),
    (128, LoadCacheMode.ALWAYS),
    (128, LoadCacheMode.GLOBAL),
]


@pytest.mark.usefixtures("every_machine")
@pytest.mark.parametrize("swizzle", [None, cute.make_swizzle(2, 4, 3)], ids=["plain", "swizzled"])
@pytest.mark.parametrize(("bits", "mode"), SIZES)
@pytest.mark.parametrize(("dtype", "rows"), [(tt.Float16, 5), (tt.Float32, 16), (tt.Int8, 1)])
def test_rows_that_exist_are_filled(dtype: Any, bits: int, mode: LoadCacheMode, swizzle: Any, rows: int) -> None:
    source, target = tensor(rows, 32, dtype), tensor(16, 32, dtype, filled=False)
    fill(given(source), given(target), bits, mode, swizzle)
    np.testing.assert_array_equal(target[:rows], source)
    assert not target[rows:].any()


def test_what_is_not_copied_is_no_access() -> None:
    """Rows behind the end of the array: bounds are those of what is read."""
    source, target = tensor(5, 32, tt.Float16), tensor(16, 32, tt.Float16, filled=False)
    with override(debug="bounds"):
        fill(given(source), given(target), 128, LoadCacheMode.GLOBAL, None)
    np.testing.assert_array_equal(target[:5], source)


@device_function
def copy_first_bytes(source: cute.Tensor, target: cute.Tensor, size: int, count: Any) -> None:
    """The form of the instruction that takes a number of bytes, which no atom has."""
    attributes = {"size": f"{size} : i32", "cache": '"all"'}
    trace = device_trace()
    trace.operation(
        "simt.async_copy",
        (target.iterator.llvm_ptr, source.iterator.llvm_ptr, tt.Int32(count).ir_value()),
        attributes={name: trace.builder.attribute(text) for name, text in attributes.items()},
    )


@tt.kernel
def first_bytes_kernel(address: tt.Int64, counts: cute.Tensor, out: cute.Tensor, size: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int8, cute.make_layout((64 * size,)), 16)
    x = cute.make_tensor(cute.make_ptr(tt.Int8, address, cute.AddressSpace.gmem, assumed_align=16), shared.layout)
    source, mine, target = (cute.zipped_divide(tensor, (size,))[None, thread] for tensor in (x, shared, out))
    mine.fill(-1)
    copy_first_bytes(source, mine, size, counts[thread])
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    cute.autovec_copy(mine, target)


@tt.jit
def first_bytes(address: tt.Int64, counts: cute.Tensor, out: cute.Tensor, size: tt.Constexpr[int]) -> None:
    first_bytes_kernel(address, counts, out, size).launch(grid=1, block=64)


@pytest.mark.usefixtures("every_machine")
@pytest.mark.parametrize("size", [4, 8, 16])
def test_what_follows_the_first_bytes_of_a_copy_is_zero(size: int) -> None:
    random = np.random.default_rng(1)
    x = aligned(64 * size, np.int8).reshape(64, size)
    x[:] = random.integers(1, 100, x.shape)
    for counts in (random.integers(0, size + 1, 64), np.full(64, size), np.full(64, 2)):
        out = tensor(64, size, tt.Int8)
        first_bytes(x.ctypes.data, counts.astype(np.int32), given(out.ravel()), size)
        np.testing.assert_array_equal(out, np.where(np.arange(size) < counts[:, None], x, 0))


def test_a_copy_of_no_bytes_reads_nothing() -> None:
    """Nothing is at the address, and reading it would end the process."""
    out = tensor(64, 16, tt.Int8)
    first_bytes(1 << 12, np.zeros(64, np.int32), given(out.ravel()), 16)
    assert not out.any()


# what is emitted --------------------------------------------------------------------------------------------------
def operations(text: str, name: str) -> list[str]:
    return [line.split(" = ", 1)[-1].strip() if name in line else "" for line in text.splitlines() if name in line]


@pytest.mark.parametrize(("bits", "mode"), SIZES)
def test_asynchronous_copy_is_one_operation(bits: int, mode: LoadCacheMode) -> None:
    source, target = tensor(16, 32, tt.Float16), tensor(16, 32, tt.Float16, filled=False)
    text = traced_ir(fill, given(source), given(target), bits, mode, None)
    found = re.findall(r'"simt\.async_copy"\(%\S+, %\S+, %\S+\) \{cache = "(\w+)", size = (\d+) : i32\}', text)
    word = "all" if mode is LoadCacheMode.ALWAYS else "global"
    assert found == [(word, str(bits // 8))] * (16 // (bits // 16))
    assert text.count("scf.if") == 1


@tt.kernel
def both_kernel(loads: tt.Constexpr[Any], stores: tt.Constexpr[Any], dtype: tt.Constexpr[Any]) -> None:
    """One instruction of each kind, on as much as it moves."""
    shared = cute.SmemAllocator().allocate_tensor(dtype, (16 * 8 // dtype.width,), 16)
    for op in loads:
        atom = cute.make_copy_atom(op, dtype)
        cute.copy_atom_call(atom, shared, cute.make_rmem_tensor((atom.values_written,), dtype))
    for op in stores:
        atom = cute.make_copy_atom(op, dtype)
        cute.copy_atom_call(atom, cute.make_rmem_tensor((atom.values_read,), dtype), shared)


@tt.jit
def both(loads: tt.Constexpr[Any], stores: tt.Constexpr[Any], dtype: tt.Constexpr[Any]) -> None:
    both_kernel(loads, stores, dtype).launch(grid=1, block=32)


def test_matrix_copies_are_one_operation_each() -> None:
    halves = [warp.LdMatrix8x8x16bOp(transposed, count) for transposed in (False, True) for count in (1, 2, 4)]
    stores = [warp.StMatrix8x8x16bOp(transposed, count) for transposed in (False, True) for count in (1, 2, 4)]
    text = traced_ir(both, tuple(halves), tuple(stores), tt.Float16)
    forms = [f"m8n8.x{count}{transposed}.b16" for transposed in ("", ".trans") for count in (1, 2, 4)]
    loaded = re.findall(r'"tile\.load_matrix"\(%\S+\) \{instruction = "ldmatrix\.(.*)"\} .* -> (.*)$', text, re.M)
    stored = re.findall(r'"tile\.store_matrix"\(%\S+, (.*)\) \{instruction = "stmatrix\.(.*)"\}', text)
    assert [(form, words.count("i32")) for form, words in loaded] == list(zip(forms, [1, 2, 4] * 2, strict=True))
    assert [(form, words.count("%")) for words, form in stored] == list(zip(forms, [1, 2, 4] * 2, strict=True))
    assert len(re.findall(r"llvm\.store %\S+, %\S+ \{alignment = 4 : i64\} : i32, !llvm\.ptr$", text, re.M)) == 14


def test_matrices_of_bytes_are_the_instructions_of_newer_machines() -> None:
    loads = (
        warp.LdMatrix8x16x8bOp(False, 4, unpack_bits=4),
        warp.LdMatrix8x16x8bOp(False, 2, unpack_bits=6),
        warp.LdMatrix16x16x8bOp(True, 2),
        warp.LdMatrix16x8x8bOp(True, 4),
    )
    text = traced_ir(both, loads, (warp.StMatrix16x8x8bOp(True, 2),), tt.Int8)
    assert re.findall(r'"tile\.(\w+)_matrix".*instruction = "(.*)"', text) == [
        ("load", "ldmatrix.m8n16.x4.b8x16.b4x16_p64"),
        ("load", "ldmatrix.m8n16.x2.b8x16.b6x16_p32"),
        ("load", "ldmatrix.m16n16.x2.trans.b8"),
        ("load", "ldmatrix.m16n16.x2.trans.b8"),
        ("store", "stmatrix.m16n8.x2.trans.b8"),
    ]
    assert text.count("arith.shli") == text.count("arith.shrui") == 2


# mistakes ---------------------------------------------------------------------------------------------------------
def in_a_kernel(body: Any) -> None:
    @tt.kernel
    def kernel(memory: cute.Pointer, body: tt.Constexpr[Any]) -> None:
        body(memory)

    @tt.jit
    def launch(address: tt.Int64, body: tt.Constexpr[Any]) -> None:
        kernel(cute.make_ptr(tt.Float16, address, cute.AddressSpace.gmem, assumed_align=16), body).launch(
            grid=1, block=32
        )

    traced_ir(launch, 0, body)


def shared(layout: Any, alignment: int = 16, swizzle: Any = None) -> Any:
    return cute.SmemAllocator().allocate_tensor(tt.Float16, layout, alignment, swizzle)


def asynchronous(memory: Any) -> Any:
    return cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float16, num_bits_per_copy=128)


def test_which_pointer_is_not_aligned_and_what_to_write() -> None:
    def wrong(memory: Any) -> None:
        cute.copy(asynchronous(memory), cute.make_tensor(memory, (8,)), shared((8,), 8))

    with pytest.raises(CopyAlignmentError, match=r"(?s)needs a destination.*byte_alignment=16"):
        in_a_kernel(wrong)


def test_offset_is_not_aligned() -> None:
    def wrong(memory: Any) -> None:
        cute.copy(asynchronous(memory), cute.make_tensor(memory + 4, (8,)), shared((8,)))

    with pytest.raises(CopyAlignmentError, match=r"(?s)needs a source.*8 bytes are known.*assumed_align=16"):
        in_a_kernel(wrong)


def test_swizzle_tears_rows_apart() -> None:
    def wrong(memory: Any) -> None:
        target = shared((8,), 128, cute.make_swizzle(2, 3, 3))
        cute.copy(asynchronous(memory), cute.make_tensor(memory, (8,)), target)

    with pytest.raises(CopyAlignmentError, match=r"make_swizzle\(b, 4, s\)"):
        in_a_kernel(wrong)


def test_swizzled_layout_tears_rows_apart() -> None:
    def wrong(memory: Any) -> None:
        layout = cute.make_composed_layout(cute.make_swizzle(2, 2, 3), 0, cute.make_layout((8,)))
        cute.copy(asynchronous(memory), cute.make_tensor(memory, (8,)), shared(layout, 128))

    with pytest.raises(CopyLayoutError, match="side by side"):
        in_a_kernel(wrong)


def test_elements_of_another_size() -> None:
    def wrong(memory: Any) -> None:
        target = cute.SmemAllocator().allocate_tensor(tt.Float32, (8,), 16)
        cute.copy(asynchronous(memory), cute.make_tensor(memory, (8,)), target)

    with pytest.raises(CopyMemoryError, match="moves elements of 16 bits"):
        in_a_kernel(wrong)


def test_predicates_of_elements_are_not_those_of_instructions() -> None:
    def wrong(memory: Any) -> None:
        allowed = cute.make_rmem_tensor((8,), tt.Boolean)
        cute.copy(asynchronous(memory), cute.make_tensor(memory, (8,)), shared((8,)), pred=allowed)

    with pytest.raises(TensorShapeError, match="1 predicates, one for each instruction"):
        in_a_kernel(wrong)


def test_sides_of_different_numbers_of_instructions() -> None:
    def wrong(memory: Any) -> None:
        atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 1), tt.Float16)
        cute.copy(atom, shared((16,)), cute.make_rmem_tensor((2,), tt.Float16))

    with pytest.raises(TensorShapeError, match="different numbers of instructions"):
        in_a_kernel(wrong)


def test_one_call_is_one_instruction() -> None:
    def wrong(memory: Any) -> None:
        cute.copy_atom_call(asynchronous(memory), cute.make_tensor(memory, (16,)), shared((16,)))

    with pytest.raises(TensorShapeError, match="not the values of one copy instruction"):
        in_a_kernel(wrong)


def test_plain_copies_take_any_nesting() -> None:
    @tt.jit
    def copy(source: cute.Tensor, target: cute.Tensor) -> None:
        cute.autovec_copy(source, target)
        cute.copy(cute.make_copy_atom(CopyUniversalOp(), tt.Float16), source, target)

    source, target = tensor(4, 4, tt.Float16), tensor(16, 1, tt.Float16, filled=False)
    copy(given(source), given(target))
    np.testing.assert_array_equal(target[:, 0], source.T.reshape(-1))

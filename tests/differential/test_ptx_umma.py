"""The PTX simulator: UMMA of one block and of pairs, its commits and its descriptors, in kernels written by hand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.ptx.handwritten import ORDERS, first, wait
from tests.support.ptx.tensor_kernels import (
    A_AT,
    B_AT,
    FENCE_AFTER,
    SWIZZLE_128_OF_32,
    begun,
    chunks,
    commit,
    freed,
    image,
    leader,
    matrix,
    met,
    product,
    registers,
    run,
    stored,
)
from triptych.ptxsim.clusters import Order, StuckError
from triptych.ptxsim.matrices import FACTORS
from triptych.ptxsim.memory import AccessError
from triptych.ptxsim.smem_matrices import DescriptorError
from triptych.ptxsim.tensor_memory import TensorMemoryError

N = 32
SUMS: dict[str, tuple[int, Any]] = {"f16": (0, np.float16), "f32": (1, np.float32), "s32": (2, np.int32)}
FORMATS = {"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "u8": 0, "s8": 1}
KINDS = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "u8": "i8", "s8": "i8"}
SMALL: dict[str, tuple[int, Any]] = {
    "e2m1": (4, ml_dtypes.float4_e2m1fn),
    "e2m3": (6, ml_dtypes.float6_e2m3fn),
    "e3m2": (6, ml_dtypes.float6_e3m2fn),
}


def bits(m: int, n: int, left: str, right: str, total: str = "f32", more: int = 0) -> int:
    """An instruction descriptor."""
    return SUMS[total][0] << 4 | FORMATS[left] << 7 | FORMATS[right] << 10 | n // 8 << 17 | m // 16 << 24 | more


def numbers(kind: str, rows: int, seed: int) -> Any:
    """Whole numbers of a type, as many as an instruction takes of each row."""
    depth = {"tf32": 8, "f16": 16, "bf16": 16}.get(kind, 32)
    low = 0 if kind == "u8" else -2
    return np.random.default_rng(seed).integers(low, 3, (rows, depth))


def row_bytes(kind: str, values: Any) -> Any:
    """Rows of 32 bytes: of narrow types 16 elements in the first bytes of 16."""
    if kind not in SMALL:
        return np.ascontiguousarray(values.astype(FACTORS[kind])).view(np.uint8)
    width, dtype = SMALL[kind]
    codes = values.astype(np.float32).astype(dtype).view(np.uint8)
    each = (codes[..., None] >> np.arange(width) & 1).astype(np.uint8)
    packed = np.packbits(each.reshape(len(values), 2, 16 * width), axis=2, bitorder="little")
    return np.pad(packed, ((0, 0), (0, 0), (0, 16 - packed.shape[2])), constant_values=0xA5).reshape(len(values), 32)


def mma(kind: str, descriptor: int, *, ctas: int = 1, rows: int = 128, n: int = N, adds: bool = False) -> str:
    """One instruction over the factors at A_AT and B_AT."""
    a, b = matrix(A_AT, rows * 16, 128), matrix(B_AT, n // ctas * 16, 128)
    return f"""mov.u64 %d20, {a}; mov.u64 %d21, {b}; mov.u32 %r20, {descriptor}; setp.eq.u32 %p2, 0, {int(not adds)};
    tcgen05.mma.cta_group::{ctas}.kind::{kind}.collector::a::discard [%r2], %d20, %d21, %r20, %p2;"""


def one_block(left: str, right: str, a: Any, b: Any) -> Any:
    return image((A_AT, chunks(row_bytes(left, a))), (B_AT, chunks(row_bytes(right, b))))


TYPES = [
    *((each, each, "f32") for each in FORMATS if each not in ("u8", "s8")),
    ("f16", "f16", "f16"),
    ("e4m3", "e5m2", "f16"),
    ("e2m1", "e4m3", "f32"),
    ("e3m2", "e2m3", "f32"),
    ("s8", "u8", "s32"),
    ("u8", "u8", "s32"),
    ("s8", "s8", "s32"),
]


@pytest.mark.parametrize(("left", "right", "total"), TYPES)
def test_products_of_all_types(left: str, right: str, total: str) -> None:
    a, b = numbers(left, 128, 1), numbers(right, N, 2)
    text = mma(KINDS.get(left, "f8f6f4"), bits(128, N, left, right, total))
    found = run(product(text, N), np.zeros((128, N), np.uint32), one_block(left, right, a, b))
    dtype = SUMS[total][1]
    values = found.view(dtype) if total != "f16" else found.astype(np.uint16).view(dtype)
    np.testing.assert_array_equal(values, a @ b.T)


@pytest.mark.parametrize("order", ORDERS)
def test_products_are_added_in_the_order_of_their_issue(order: Order) -> None:
    """Overwritten, added to, with signs changed: only the last three count."""
    a, b = numbers("f16", 128, 1), numbers("f16", N, 2)
    said = bits(128, N, "f16", "f16")
    parts = [mma("f16", said), mma("f16", said), mma("f16", said, adds=True)]
    parts += [mma("f16", said | 1 << 13, adds=True), mma("f16", said | 3 << 13, adds=True)]
    text = product("".join(parts), N)
    found = run(text, np.zeros((128, N), np.float32), one_block("f16", "f16", a, b), order=order)
    np.testing.assert_array_equal(found, 2 * (a @ b.T))


@pytest.mark.parametrize("second", [0, 16])
def test_64_rows_are_in_the_first_or_second_lanes_of_each_quarter(second: int) -> None:
    a, b = numbers("bf16", 64, 1), numbers("bf16", N, 2)
    text = f"add.u32 %r7, %r2, {second << 16};" + mma("f16", bits(64, N, "bf16", "bf16"), rows=64).replace(
        "[%r2]", "[%r7]"
    )
    found = run(product(text, N), np.zeros((128, N), np.float32), one_block("bf16", "bf16", a, b))
    np.testing.assert_array_equal(found.reshape(4, 2, 16, N)[:, second // 16].reshape(64, N), a @ b.T)
    assert np.isnan(found.reshape(4, 2, 16, N)[:, 1 - second // 16]).all()


def test_integers_saturate_where_they_are_told_to() -> None:
    a, b = np.full((128, 32), 127), np.full((N, 32), 127)
    near = 2**31 - 1000
    set_up = f"mov.u32 %r50, {near};" + "".join(f"mov.u32 %r{100 + i}, %r50;" for i in range(N))
    store = (
        f"tcgen05.st.sync.aligned.32x32b.x{N}.b32 [%r3], {{{registers(N)}}}; tcgen05.wait::st.sync.aligned; bar.sync 0;"
    )
    for more, expected in ((1 << 3, 2**31 - 1), (0, near + 32 * 127 * 127 - 2**32)):
        text = product(mma("i8", bits(128, N, "s8", "s8", "s32", more), adds=True), N)
        body = text.replace("{ .reg .pred odd", f"{set_up} {store} {{ .reg .pred odd", 1)
        found = run(body, np.zeros((128, N), np.int32), one_block("s8", "s8", a, b))
        assert (found == expected).all()


def test_rows_of_tf32_along_m_and_n_in_swizzles_of_32_bytes() -> None:
    """Rows of 128 bytes for each k, of which four make a pattern; 32 bytes change places by bits 7 and 8."""
    a, b = numbers("tf32", 128, 1), numbers("tf32", N, 2)

    def laid(values: Any) -> Any:
        data = np.zeros(values.size * 4, np.uint8)
        for (row, k), value in np.ndenumerate(values):
            at = row % 32 * 4 + row // 32 * 1024 + k * 128
            at ^= (at >> 7 & 3) << 5
            data[at : at + 4] = np.array([value], np.float32).view(np.uint8)
        return data

    text = mma("tf32", bits(128, N, "tf32", "tf32", more=3 << 15))
    for at, rows in ((A_AT, 128), (B_AT, N)):
        text = text.replace(str(matrix(at, rows * 16, 128)), str(matrix(at, 1024, 512, SWIZZLE_128_OF_32)))
    found = run(product(text, N), np.zeros((128, N), np.float32), image((A_AT, laid(a)), (B_AT, laid(b))))
    np.testing.assert_array_equal(found, a @ b.T)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("m", [128, 256])
def test_pairs_multiply_rows_of_both_by_columns_of_both(m: int, order: Order) -> None:
    a, b = numbers("f16", m, 1), numbers("f16", N, 2)
    half = m // 2
    images = [one_block("f16", "f16", a[i * half :][:half], b[i * N // 2 :][: N // 2]) for i in range(2)]
    text = product(mma("f16", bits(m, N, "f16", "f16"), ctas=2, rows=half), N, ctas=2)
    found = run(text, np.zeros((2, 128, N), np.float32), *images, order=order)
    if m == 256:
        np.testing.assert_array_equal(found.reshape(256, N), a @ b.T)
    else:
        sums = found[:, :, : N // 2].reshape(2, 2, 64, N // 2).transpose(0, 2, 1, 3).reshape(128, N)
        np.testing.assert_array_equal(sums, a @ b.T)


@pytest.mark.parametrize(("kind", "rows"), [("f16", 128), ("tf32", 128), ("e4m3", 128), ("bf16", 64)])
def test_a_from_tensor_memory(kind: str, rows: int) -> None:
    """Rows of 32 bytes, stored there by the threads of their lanes."""
    a, b = numbers(kind, rows, 1), numbers(kind, N, 2)
    held = np.zeros((128, 32), np.uint8)
    lanes = np.arange(rows) if rows == 128 else np.arange(64) // 16 * 32 + np.arange(64) % 16
    held[lanes] = row_bytes(kind, a)
    words = "".join(f"ld.shared.u32 %r{200 + i}, [%r6+{A_AT + 4 * i}];" for i in range(8))
    store = f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r3+{N}], {{{registers(8, 200)}}}; tcgen05.wait::st.sync.aligned;"
    fill = f"shl.b32 %r6, %r0, 5; add.u32 %r6, %r6, %r1; {words} {store} bar.sync 0;"
    text = mma(KINDS.get(kind, "f8f6f4"), bits(rows, N, kind, kind)).replace("[%r2], %d20", f"[%r2], [%r2+{N}]")
    body = product(text, N).replace("{ .reg .pred odd", f"{fill} {{ .reg .pred odd", 1)
    found = run(body, np.zeros((128, N), np.float32), image((A_AT, held), (B_AT, chunks(row_bytes(kind, b)))))
    np.testing.assert_array_equal(found[lanes], a @ b.T)


# when ---------------------------------------------------------------------------------------------------------------
def test_a_product_that_nobody_waits_for_is_not_there_yet() -> None:
    a, b = numbers("f16", 128, 1), numbers("f16", N, 2)
    load = f"tcgen05.ld.sync.aligned.32x32b.x{N}.b32 {{{registers(N)}}}, [%r3]; tcgen05.wait::ld.sync.aligned;"
    text = mma("f16", bits(128, N, "f16", "f16")) + commit()
    body = begun(64) + first(text) + load + stored(N) + wait() + met() + freed(64)
    found = run(body, np.zeros((128, N), np.float32), one_block("f16", "f16", a, b))
    assert np.isnan(found).all()


@pytest.mark.parametrize("order", ORDERS)
def test_a_commit_of_nothing_to_the_own_block_may_be_the_last(order: Order) -> None:
    """As one that gives back the last stage of a ring: another commit behind the products was waited for."""
    a, b = numbers("f16", 128, 1), numbers("f16", N, 2)
    text = product(mma("f16", bits(128, N, "f16", "f16")), N).replace(commit(), commit() + commit(barrier=8))
    found = run(text, np.zeros((128, N), np.float32), one_block("f16", "f16", a, b), order=order)
    np.testing.assert_array_equal(found, a @ b.T)


def test_a_commit_to_another_block_must_be_waited_for() -> None:
    text = begun(32, 2) + leader(commit(2)) + met(2) + freed(32, 2)
    with pytest.raises(StuckError, match=r"still under way: tcgen05\.commit"):
        run(text, np.zeros(1, np.uint32), image(), image())


def test_a_commit_tells_of_all_that_its_thread_has_issued() -> None:
    """Two commits of a thread arrive one after the other, whichever is drawn."""
    a, b = numbers("f16", 128, 1), numbers("f16", N, 2)
    said = bits(128, N, "f16", "f16")
    text = mma("f16", said) + commit(barrier=8) + mma("f16", said, adds=True)
    for order in ORDERS:
        found = run(product(text, N), np.zeros((128, N), np.float32), one_block("f16", "f16", a, b), order=order)
        np.testing.assert_array_equal(found, 2 * (a @ b.T))


def refused(body: str, error: type[Exception], message: str, blocks: int = 1) -> None:
    filled = [one_block("f16", "f16", numbers("f16", 128, 1), numbers("f16", N, 2))] * blocks
    with pytest.raises(error, match=message):
        run(body, np.zeros((128 * blocks, N), np.float32), *filled)


SAID = bits(128, N, "f16", "f16")
FORBIDDEN = {
    "sparse": ("f16", SAID | 1 << 2, "has bits 0x4"),
    "reserved": ("f16", SAID | 1 << 6, "has bits 0x40"),
    "shift": ("f16", SAID | 1 << 30, "has bits 0x40000000"),
    "saturates": ("f16", SAID | 1 << 3, "has bits 0x8"),
    "negated integers": ("i8", bits(128, N, "s8", "s8", "s32", 1 << 13), "has bits 0x2000"),
    "type": ("f16", SAID | 5 << 7, "has a type that f16 has not"),
    "sum": ("tf32", bits(128, N, "tf32", "tf32", "f16"), "has a type that tf32 has not"),
    "mixed": ("f16", bits(128, N, "f16", "bf16"), "there is no product"),
    "rows": ("f16", bits(192, N, "f16", "f16"), "there is no product"),
    "columns": ("f16", bits(128, 264, "f16", "f16"), "there is no product"),
    "narrow along m": ("f8f6f4", bits(128, N, "e2m1", "e4m3", more=1 << 15), "must lie along K"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_descriptors_of_no_instruction_are_refused(name: str) -> None:
    kind, said, message = FORBIDDEN[name]
    refused(product(mma(kind, said), N), TensorMemoryError, message)


@pytest.mark.parametrize(
    ("bit", "message"),
    [(46, "must be 1"), (49, "base offset"), (52, "second buffer"), (14, "reserved"), (63, "no swizzle 5")],
)
def test_descriptors_of_no_matrix_are_refused(bit: int, message: str) -> None:
    text = mma("f16", SAID)
    right = matrix(B_AT, N * 16, 128)
    wrong = right ^ 1 << bit if bit < 63 else right | 5 << 61
    refused(product(text.replace(str(right), str(wrong)), N), DescriptorError, message)


def test_columns_that_are_not_allocated_are_refused() -> None:
    text = "add.u32 %r7, %r2, 16;" + mma("f16", SAID).replace("[%r2]", "[%r7]")
    refused(product(text, N, allocation=32), TensorMemoryError, "columns 496 to 527 of 512")


def test_a_wrong_lane_is_refused() -> None:
    text = f"add.u32 %r7, %r2, {16 << 16};" + mma("f16", SAID).replace("[%r2]", "[%r7]")
    refused(product(text, N), TensorMemoryError, "D of 128 rows begins in lane 16")


def test_a_pair_needs_its_peer() -> None:
    text = product(mma("f16", bits(256, N, "f16", "f16"), ctas=2), N, ctas=2).replace(", %h1;", ", %h2;")
    refused(text.replace("mov.u16 %h1, 3;", "mov.u16 %h2, 1;"), TensorMemoryError, "has no peer of rank 1")


def test_both_of_a_pair_allocate() -> None:
    """The second allocates nothing, and frees nothing."""
    odd = ".reg .pred odd; .reg .b32 rank; mov.u32 rank, %cluster_ctarank; setp.ne.u32 odd, rank, 0;"
    body = f"{{ {odd} @odd bra later; {begun(64, 2).replace(met(2), '')} {freed(64, 2)} later: }}"
    refused(body, TensorMemoryError, "its peer has not allocated the same columns", blocks=2)


def test_a_product_that_is_never_committed_is_refused() -> None:
    body = begun(64) + first(mma("f16", SAID)) + met() + freed(64)
    refused(body, TensorMemoryError, "nobody has waited for tcgen05.mma")


def test_columns_that_were_freed_before_the_product_are_refused() -> None:
    body = begun(64) + first(mma("f16", SAID) + commit()) + met() + freed(64) + wait()
    refused(body, TensorMemoryError, "column 448 is freed")


def test_a_commit_to_a_block_that_has_ended_is_refused() -> None:
    """The multicast arrives at both; the second does not wait for it."""
    text = mma("f16", bits(256, N, "f16", "f16"), ctas=2) + commit(2)
    leave = "{ .reg .pred odd; .reg .b32 rank; mov.u32 rank, %cluster_ctarank; setp.ne.u32 odd, rank, 0; @odd bra over;"
    body = begun(64, 2) + leader(text) + leave + wait() + "over: }" + freed(64, 2)
    refused(body, TensorMemoryError, "has ended", blocks=2)


def test_a_commit_to_no_block_is_refused() -> None:
    text = mma("f16", bits(256, N, "f16", "f16"), ctas=2)
    body = product(text, N, ctas=2).replace("mov.u16 %h1, 3;", "mov.u16 %h1, 4;")
    refused(body, TensorMemoryError, "blocks 0x4 of a cluster of 2", blocks=2)


def test_a_wait_for_a_commit_that_nobody_makes_is_stuck() -> None:
    body = begun(64) + first(mma("f16", SAID)) + wait() + FENCE_AFTER + met() + freed(64)
    refused(body, StuckError, "wait for the mbarrier at byte")


def test_factors_beyond_shared_memory_are_refused() -> None:
    text = mma("f16", SAID).replace(str(matrix(B_AT, N * 16, 128)), str(matrix(B_AT, 1 << 17, 128)))
    refused(product(text, N), AccessError, "of shared memory")

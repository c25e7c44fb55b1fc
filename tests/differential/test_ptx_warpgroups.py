"""The PTX simulator: WGMMA, whose operands boxes have laid down, in kernels written by hand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.ptx.handwritten import ORDERS, Handwritten, first, wait
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.clusters import Order, StuckError
from triptych.ptxsim.matrices import FACTORS
from triptych.ptxsim.memory import UnfencedError
from triptych.ptxsim.smem_matrices import DescriptorError
from triptych.ptxsim.warpgroups import ProductError, RegisterCountError

SUMS: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "s32": np.int32}
A_AT, B_AT = 1024, 1024 + 16384
"""Where the factors are in shared memory."""
FENCE = "wgmma.fence.sync.aligned;"
COMMIT = "wgmma.commit_group.sync.aligned;"
WAIT = "wgmma.wait_group.sync.aligned {};"
MODES = {0: 0, 1: 3, 2: 2, 3: 1}
"""The descriptor's number of a swizzle that the map calls 0, 1, 2, 3."""


def whole_numbers(rng: Any, shape: tuple[int, int], kind: str) -> Any:
    low = 0 if kind == "u8" else -4
    return rng.integers(low, 5, shape).astype(FACTORS[kind])


def loads(map_name: str, at: int, rows: int, depth: int, size: int, swizzle: int, *, is_transposed: bool) -> str:
    """The instructions that lay a factor down, in boxes as wide as the pattern."""
    wide = (16 << swizzle) // size
    inner, outer = (rows, depth) if is_transposed else (depth, rows)
    text = f"mov.b64 %d3, {map_name}; cvta.param.u64 %d2, %d3;"
    for number in range(-(-inner // wide)):
        place = at + number * outer * wide * size
        text += f"mov.u32 %r20, {number * wide}; mov.u32 %r21, 0;"
        text += (
            "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
            f"[%r1+{place}], [%d2, {{%r20, %r21}}], [%r1];"
        )
    return text


def descriptor(
    register: str, at: int, rows: int, depth: int, size: int, swizzle: int, *, is_transposed: bool, step: int = 0
) -> str:
    """The instructions that make the descriptor of such a factor; `step` of its depth further."""
    wide = 16 << swizzle
    pattern = 8 * wide
    if not is_transposed:
        leading, stride = (rows * 16, 128) if swizzle == 0 else (16, pattern)
        per_wide = wide // size
        at += step // per_wide * rows * wide + step % per_wide * size
    elif swizzle:
        leading, stride = depth * wide, pattern
        at += step // 8 * pattern
    else:
        leading, stride = 128, depth * 16
        at += step // 8 * 128
    constant = MODES[swizzle] << 62 | leading >> 4 << 16 | stride >> 4 << 32
    return (
        f"add.u32 %r3, %r1, {at}; shr.u32 %r3, %r3, 4; and.b32 %r3, %r3, 0x3fff; cvt.u64.u32 {register}, %r3;"
        f"or.b64 {register}, {register}, {constant:#x};"
    )


def stored(count: int) -> str:
    """All sums of each thread, one after the other."""
    text = f"ld.param.u64 %d5, [p2]; mul.wide.u32 %d6, %r0, {4 * count}; add.s64 %d6, %d5, %d6;"
    return text + "".join(f"st.global.u32 [%d6+{4 * i}], %r{100 + i};" for i in range(count))


def put_together(words: Any, kind: str, columns: int) -> Any:
    """The matrix of the sums, by their layout (thread, value) -> row + 64 column."""
    values = np.ascontiguousarray(words).view(SUMS[kind]).reshape(128, columns // 2)
    result = np.zeros((64, columns), SUMS[kind])
    for thread in range(128):
        for value in range(columns // 2):
            t, v = (thread % 4, thread // 4 % 8, thread // 32), (value % 2, value // 2 % 2, value // 4)
            place = t[0] * 128 + t[1] + t[2] * 16 + v[0] * 64 + v[1] * 8 + v[2] * 512
            result[place % 64, place // 64] = values[thread, value]
    return result


def registers(count: int) -> str:
    return "{" + ", ".join(f"%r{100 + i}" for i in range(count)) + "}"


def zeros(count: int) -> str:
    return "".join(f"mov.b32 %r{100 + i}, 0;" for i in range(count))


CASES = [
    ("f32", "f16", "f16", 16, 3, False, False),
    ("f32", "f16", "f16", 64, 3, True, True),
    ("f32", "f16", "f16", 8, 2, False, False),
    ("f32", "bf16", "bf16", 32, 1, True, False),
    ("f16", "f16", "f16", 24, 0, False, True),
    ("f32", "f16", "f16", 64, 0, True, False),
    ("f32", "bf16", "bf16", 16, 0, False, False),
    ("f32", "tf32", "tf32", 40, 3, False, False),
    ("f32", "e4m3", "e5m2", 16, 2, False, False),
    ("f16", "e5m2", "e5m2", 16, 0, False, False),
    ("s32", "s8", "s8", 48, 3, False, False),
    ("s32", "u8", "s8", 24, 1, False, False),
]


@pytest.mark.parametrize(("total", "left", "right", "columns", "swizzle", "tA", "tB"), CASES)
def test_products_agree_with_numpy(
    total: str, left: str, right: str, columns: int, swizzle: int, tA: bool, tB: bool
) -> None:
    """Some steps of the depth on the same sums; the first does not add. Whole numbers: equal to the bit."""
    rng = np.random.default_rng(columns)
    size = np.dtype(FACTORS[left]).itemsize
    step = 32 // size
    depth = max(2 * step, (16 << swizzle) // size)
    a, b = whole_numbers(rng, (64, depth), left), whole_numbers(rng, (columns, depth), right)
    count = columns // 4 if total == "f16" else columns // 2
    texts, memories = [], []
    for name, at, matrix, is_transposed in (("p0", A_AT, a, tA), ("p1", B_AT, b, tB)):
        rows = len(matrix)
        laid = np.ascontiguousarray(matrix.T if is_transposed else matrix)
        kind = ml_dtypes.bfloat16 if left == "bf16" else f"u{size}" if size < 4 else np.float32
        wide = min((16 << swizzle) // size, laid.shape[1])
        memories.append((laid.view(kind), (wide, laid.shape[0])))
        texts.append(loads(name, at, rows, depth, size, swizzle, is_transposed=is_transposed))
    tail = "" if total == "s32" else ", 1, 1" + (f", {int(tA)}, {int(tB)}" if size == 2 else "")
    products = ""
    for number in range(depth // step):
        products += descriptor("%d10", A_AT, 64, depth, size, swizzle, is_transposed=tA, step=number * step)
        products += descriptor("%d11", B_AT, columns, depth, size, swizzle, is_transposed=tB, step=number * step)
        products += f"setp.ne.u32 %p1, {number}, 0; wgmma.mma_async.sync.aligned.m64n{columns}k{step}.{total}.{left}."
        products += f"{right} {registers(count)}, %d10, %d11, %p1{tail};"
    body = f"""
    {
        first(
            f"mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {a.nbytes + b.nbytes};"
            + texts[0]
            + texts[1]
        )
    }
    bar.sync 0;
    {wait()}
    {FENCE} {products} {COMMIT} {WAIT.format(0)}
    {stored(count)}
"""
    for order in ORDERS[:2]:
        machine = Handwritten(order)
        maps = [machine.map(machine.array(values), values, box, swizzle=swizzle) for values, box in memories]
        like = np.zeros((128, count), np.uint32)
        out = machine.array(like)
        machine.run(body, *maps, out, threads=128, shared=65536)
        found = put_together(machine.values(out, like), total, columns)
        wide_type = np.int64 if total == "s32" else np.float64
        np.testing.assert_array_equal(found, a.astype(wide_type) @ b.astype(wide_type).T)


# A from registers, and what is in flight ------------------------------------------------------------------------------
B_ONES = """
    mad.lo.u32 %r2, %r0, 4, %r1;
    st.shared.u32 [%r2+1024], 0x3C003C00;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    mov.b32 %r30, 0x40004000; mov.b32 %r31, 0x40004000; mov.b32 %r32, 0; mov.b32 %r33, 0x40004000;
    setp.eq.u32 %p1, %r0, %r0;
    add.u32 %r3, %r1, 1024; shr.u32 %r3, %r3, 4; and.b32 %r3, %r3, 0x3fff; cvt.u64.u32 %d11, %r3;
    or.b64 %d11, %d11, 0x800080000;
"""
"""B is 8 x 16 ones; A has a two everywhere but in the upper right corners."""
PRODUCT = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r100, %r101, %r102, %r103}, {%r30, %r31, %r32, %r33}, %d11, "
    "%p1, 1, 1, 0;"
)


def run(body: str, order: Order = "late", threads: int = 128) -> Any:
    """The sums of each thread after some instructions: of rows of the upper half, then of the lower."""
    machine = Handwritten(order)
    like = np.zeros((threads, 4), np.float32)
    out = machine.array(like)
    machine.run(zeros(4) + B_ONES + body + stored(4), 0, 0, out, threads=threads)
    return machine.values(out, like)


ROW = [16.0, 16.0, 32.0, 32.0]


@pytest.mark.parametrize("order", ORDERS)
def test_the_left_factor_comes_from_registers(order: Order) -> None:
    found = run(FENCE + PRODUCT + PRODUCT + COMMIT + WAIT.format(0), order, 256)
    assert (found == 2 * np.array(ROW)).all()


def test_sums_are_there_when_they_are_waited_for() -> None:
    """A `mov` changes the name of a sum that is under way; what has been committed last may still be."""
    renamed = "mov.b32 %r50, %r100; mov.b32 %r100, %r101; mov.b32 %r101, %r50;"
    found = run(FENCE + PRODUCT + COMMIT + renamed + WAIT.format(0))
    assert (found == np.array(ROW)).all()
    assert not (run(FENCE + PRODUCT + COMMIT + WAIT.format(1)) == np.array(ROW)).any()
    assert not (run(FENCE + PRODUCT + WAIT.format(0)) == np.array(ROW)).any()
    second = PRODUCT.replace("%r10", "%r11")
    found = run(FENCE + PRODUCT + COMMIT + second + COMMIT + WAIT.format(1))
    assert (found == np.array(ROW)).all()
    chained = run(FENCE + PRODUCT + COMMIT + PRODUCT + COMMIT + WAIT.format(1))
    assert not (chained == np.array(ROW)).any()
    assert not (chained == 2 * np.array(ROW)).any()


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (PRODUCT, ProductError, r"no wgmma\.fence"),
        (FENCE + "add.f32 %r100, %r101, 0f3F800000;" + PRODUCT, ProductError, "register %r100 was written"),
        (FENCE + "add.u32 %r31, %r31, 0;" + PRODUCT, ProductError, "register %r31 was written"),
        (FENCE + PRODUCT + COMMIT + "add.u32 %r30, %r30, 1;" + WAIT.format(0), ProductError, "register of A"),
        ("setp.lt.u32 %p2, %r0, 5; @%p2 bra over;" + FENCE + PRODUCT + "over:", StuckError, "wgmma"),
        ("setp.lt.u32 %p2, %r0, 32; @%p2 bra over;" + FENCE + PRODUCT + "over:", StuckError, "wgmma"),
        ("st.shared.u32 [%r2+1024], 0;" + FENCE + PRODUCT + COMMIT + WAIT.format(0), UnfencedError, "wgmma"),
        (FENCE + PRODUCT.replace("n8k", "n12k"), UnknownInstructionError, "n12k16"),
        (FENCE + PRODUCT.replace(", 1, 1, 0", ", 1, 1, 0, 0"), UnknownInstructionError, "0, 0"),
        (FENCE + PRODUCT.replace("mma_async", "mma_async.sp"), UnknownInstructionError, "sp"),
        (FENCE + "cvt.u64.u32 %d12, %r0; add.s64 %d11, %d11, %d12;" + PRODUCT, ProductError, "do not agree"),
        (FENCE + "or.b64 %d11, %d11, 0x2000000000000;" + PRODUCT + COMMIT + WAIT.format(0), DescriptorError, "offset"),
        ("setmaxnreg.inc.sync.aligned.u32 100;", UnknownInstructionError, "multiple of 8"),
    ],
)
def test_mistakes_are_named(body: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        run(body)


def test_registers_are_passed_on_between_warpgroups() -> None:
    run("setmaxnreg.dec.sync.aligned.u32 40; griddepcontrol.wait; griddepcontrol.launch_dependents;")


def test_a_part_of_a_warpgroup_may_give_registers_back() -> None:
    """The last warp of a block of five."""
    Handwritten().run("setmaxnreg.dec.sync.aligned.u32 40;", threads=160)


BY_WARPS = (
    "setp.lt.u32 %p2, %r0, 64; @%p2 bra low; setmaxnreg.dec.sync.aligned.u32 {}; bra.uni over;"
    "low: setmaxnreg.dec.sync.aligned.u32 40; over:"
)


def test_warps_of_a_warpgroup_give_registers_back_in_branches_of_their_own() -> None:
    """As in kernels whose warps have different parts, each of which begins so."""
    Handwritten().run(BY_WARPS.format(40), threads=128)


@pytest.mark.parametrize("body", [BY_WARPS.format(48), BY_WARPS.replace("setmaxnreg.dec.sync.aligned.u32 {};", "")])
def test_warps_of_a_warpgroup_ask_for_as_many_registers(body: str) -> None:
    with pytest.raises(RegisterCountError, match="one warpgroup"):
        Handwritten().run(body, threads=128)


def test_a_part_of_a_warpgroup_cannot_multiply() -> None:
    with pytest.raises(StuckError, match=r"32 threads at wgmma\.fence"):
        Handwritten().run(FENCE, threads=160)

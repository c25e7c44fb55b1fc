"""The PTX simulator: products with block scales in tensor memory and in registers, in kernels written by hand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.differential.test_ptx_umma import FORMATS, SMALL, numbers, row_bytes
from tests.support.ptx.handwritten import ORDERS, Handwritten
from tests.support.ptx.tensor_kernels import A_AT, B_AT, SCALES_AT, chunks, image, matrix, product, run, warp
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.clusters import Order
from triptych.ptxsim.matrices import FACTORS
from triptych.ptxsim.tensor_memory import TensorMemoryError

N = 64
SFA, SFB = 64, 72
"""Columns behind those of the sums."""
ARRAYS = {**FACTORS, **{kind: dtype for kind, (_, dtype) in SMALL.items()}}
SCALES: dict[str, Any] = {"ue8m0": ml_dtypes.float8_e8m0fnu, "ue4m3": ml_dtypes.float8_e4m3fn}


def scale_codes(kind: str, rows: int, seed: int) -> Any:
    """Four bytes for each row."""
    values = np.random.default_rng(seed).choice([1, 2, 4] if kind == "ue8m0" else [1, 1.5, 2, 3], (rows, 4))
    return values.astype(np.float32).astype(SCALES[kind]).view(np.uint8)


def factors(codes: Any, kind: str, first: int, count: int, depth: int) -> Any:
    """One for each element of a row."""
    chosen = np.ascontiguousarray(codes[:, first : first + count]).view(SCALES[kind]).astype(np.float64)
    return np.repeat(chosen, depth // count, axis=1)


def atom(codes: Any) -> Any:
    """512 bytes for 128 rows: 32 rows of 16 bytes, of which each four are a row 32 further on."""
    padded = np.zeros((128, 4), np.uint8)
    padded[: len(codes)] = codes
    return padded.reshape(4, 32, 4).transpose(1, 0, 2)


def values_of(kind: str, form: str, rows: int, seed: int) -> tuple[Any, Any]:
    """Numbers, and their rows of 32 bytes."""
    if form == "mxf8f6f4":
        values = numbers(kind, rows, seed)
        return values, row_bytes(kind, values)
    values = np.random.default_rng(seed).integers(-2, 3, (rows, 64))
    codes = values.astype(np.float32).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    return values, codes[:, ::2] | codes[:, 1::2] << 4


def copies(ctas: int = 1, form: str = "32x128b.warpx4") -> str:
    text = ""
    for column, at in ((SFA, SCALES_AT), (SFB, SCALES_AT + 512)):
        text += f"mov.u64 %d22, {matrix(at, 16, 128)}; tcgen05.cp.cta_group::{ctas}.{form} [%r2+{column}], %d22;"
    return text


def scaled(kind: str, words: str, bits: int, ctas: int = 1, sfa: str = f"%r2+{SFA}") -> str:
    a, b = matrix(A_AT, 128 * 16, 128), matrix(B_AT, N // ctas * 16, 128)
    return f"""mov.u64 %d20, {a}; mov.u64 %d21, {b}; mov.u32 %r20, {bits}; setp.ne.u32 %p2, 0, 0;
    tcgen05.mma.cta_group::{ctas}.kind::{kind}.block_scale{words}.collector::a::discard
        [%r2], %d20, %d21, %r20, [{sfa}], [%r2+{SFB}], %p2;"""


def described(form: str, left: str, right: str, scale: str, ids: tuple[int, int], ctas: int = 1) -> int:
    formats = [FORMATS[each] if form == "mxf8f6f4" else 1 for each in (left, right)]
    shape = N // 8 << 17 | 128 * ctas // 16 << 24
    return ids[1] << 4 | formats[0] << 7 | formats[1] << 10 | shape | (scale == "ue8m0") << 23 | ids[0] << 29


CASES = [
    ("mxf8f6f4", "", "e4m3", "e4m3", 1, "ue8m0", (0, 0)),
    ("mxf8f6f4", ".block32", "e5m2", "e2m1", 1, "ue8m0", (3, 1)),
    ("mxf8f6f4", ".scale_vec::1X", "e3m2", "e2m3", 1, "ue8m0", (2, 2)),
    ("mxf4", ".block32", "e2m1", "e2m1", 2, "ue8m0", (0, 2)),
    ("mxf4", "", "e2m1", "e2m1", 2, "ue8m0", (2, 0)),
    ("mxf4nvf4", ".block16", "e2m1", "e2m1", 4, "ue4m3", (0, 0)),
    ("mxf4nvf4", ".scale_vec::4X", "e2m1", "e2m1", 4, "ue8m0", (0, 0)),
    ("mxf4nvf4", ".block32", "e2m1", "e2m1", 2, "ue8m0", (0, 2)),
]


@pytest.mark.parametrize(("form", "words", "left", "right", "count", "scale", "ids"), CASES)
def test_products_with_scales_in_tensor_memory(
    form: str, words: str, left: str, right: str, count: int, scale: str, ids: tuple[int, int]
) -> None:
    (a, a_bytes), (b, b_bytes) = values_of(left, form, 128, 1), values_of(right, form, N, 2)
    codes = [scale_codes(scale, rows, seed) for rows, seed in ((128, 3), (N, 4))]
    shared = image(
        (A_AT, chunks(a_bytes)), (B_AT, chunks(b_bytes)), (SCALES_AT, atom(codes[0])), (SCALES_AT + 512, atom(codes[1]))
    )
    text = copies() + scaled(form, words, described(form, left, right, scale, ids))
    found = run(product(text, N, allocation=128), np.zeros((128, N), np.float32), shared)
    x, y = (
        values * factors(each, scale, first, count, values.shape[1])
        for values, each, first in zip((a, b), codes, ids, strict=True)
    )
    np.testing.assert_array_equal(found, x @ y.T)


@pytest.mark.parametrize("order", ORDERS)
def test_pairs_have_scales_of_their_rows_and_of_all_columns(order: Order) -> None:
    (a, a_bytes), (b, b_bytes) = values_of("e2m1", "mxf4nvf4", 256, 1), values_of("e2m1", "mxf4nvf4", N, 2)
    of_a, of_b = scale_codes("ue4m3", 256, 3), scale_codes("ue4m3", N, 4)
    images = [
        image(
            (A_AT, chunks(a_bytes[128 * i :][:128])),
            (B_AT, chunks(b_bytes[N // 2 * i :][: N // 2])),
            (SCALES_AT, atom(of_a[128 * i :][:128])),
            (SCALES_AT + 512, atom(of_b)),
        )
        for i in range(2)
    ]
    bits = described("mxf4nvf4", "e2m1", "e2m1", "ue4m3", (0, 0), 2)
    text = product(copies(2) + scaled("mxf4nvf4", ".block16", bits, 2), N, 2, 128)
    found = run(text, np.zeros((256, N), np.float32), *images, order=order)
    x, y = a * factors(of_a, "ue4m3", 0, 4, 64), b * factors(of_b, "ue4m3", 0, 4, 64)
    np.testing.assert_array_equal(found, x @ y.T)


def plain() -> tuple[Any, Any, Any]:
    (a, a_bytes), (b, b_bytes) = values_of("e4m3", "mxf8f6f4", 128, 1), values_of("e4m3", "mxf8f6f4", N, 2)
    ones = np.full((128, 4), 127, np.uint8)
    parts = (A_AT, chunks(a_bytes)), (B_AT, chunks(b_bytes)), (SCALES_AT, atom(ones)), (SCALES_AT + 512, atom(ones))
    return a, b, image(*parts)


PLAIN = described("mxf8f6f4", "e4m3", "e4m3", "ue8m0", (1, 1))


def test_every_quarter_of_the_lanes_reads_its_own_scales() -> None:
    """Those of B are stored by the first warp alone: the other lanes find junk."""
    a, b, shared = plain()
    ones = "mov.u32 %r60, 0x7F7F7F7F;"
    store = warp(
        f"{ones} tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2+{SFB}], {{%r60, %r60}}; tcgen05.wait::st.sync.aligned;"
    )
    text = product(
        copies().partition(f"mov.u64 %d22, {matrix(SCALES_AT + 512, 16, 128)};")[0] + scaled("mxf8f6f4", "", PLAIN),
        N,
        1,
        128,
    )
    body = text.replace("{ .reg .pred odd", f"{store} bar.sync 0; {{ .reg .pred odd", 1)
    found = run(body, np.zeros((128, N), np.float32), shared)
    np.testing.assert_array_equal(found[:32], (a @ b.T)[:32])
    assert np.isnan(found[32:]).all()


def test_the_number_of_a_byte_may_stay_in_an_address() -> None:
    a, b, shared = plain()
    text = "or.b32 %r7, %r2, 0x40000000;" + copies() + scaled("mxf8f6f4", "", PLAIN, sfa=f"%r7+{SFA}")
    found = run(product(text, N, 1, 128), np.zeros((128, N), np.float32), shared)
    np.testing.assert_array_equal(found, a @ b.T)


@pytest.mark.parametrize(("form", "rows", "columns"), [("128x128b", 128, 4), ("128x256b", 128, 8)])
def test_copies_of_128_rows(form: str, rows: int, columns: int) -> None:
    values = np.random.default_rng(5).integers(0, 256, (rows, 4 * columns), dtype=np.uint8)
    text = f"mov.u64 %d22, {matrix(A_AT, rows * 16, 128)}; tcgen05.cp.cta_group::1.{form} [%r2], %d22;"
    found = run(product(text, columns), np.zeros((128, columns), np.uint32), image((A_AT, chunks(values))))
    np.testing.assert_array_equal(found.view(np.uint8), values)


WRONG = {
    "byte": ("mxf4", described("mxf4", "e2m1", "e2m1", "ue8m0", (1, 0)), "there are no factors"),
    "scale": ("mxf8f6f4", described("mxf8f6f4", "e4m3", "e4m3", "ue4m3", (0, 0)), "there are no factors"),
    "type": ("mxf4", described("mxf8f6f4", "e4m3", "e4m3", "ue8m0", (0, 0)), "has a type that mxf4 has not"),
    "rows": ("mxf8f6f4", PLAIN & ~(31 << 24) | 4 << 24, "there is no product"),
    "major": ("mxf4", described("mxf4", "e2m1", "e2m1", "ue8m0", (0, 0)) | 1 << 15, "must lie along K"),
    "k 96": ("mxf8f6f4", PLAIN | 1 << 31, "no product of K = 96 of e4m3"),
    "k 96 from an odd byte": (
        "mxf4nvf4",
        described("mxf4nvf4", "e2m1", "e2m1", "ue4m3", (1, 0)) | 1 << 31,
        "no factors",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_descriptors_of_no_scaled_product_are_refused(name: str) -> None:
    kind, bits, message = WRONG[name]
    words = ".block16" if kind == "mxf4nvf4" else ""
    with pytest.raises(TensorMemoryError, match=message):
        run(product(copies() + scaled(kind, words, bits), N, 1, 128), np.zeros((128, N), np.float32), plain()[2])


def test_scales_and_copies_begin_in_lane_0() -> None:
    shared = plain()[2]
    move = f"add.u32 %r7, %r2, {32 << 16};"
    for text in (
        move + copies() + scaled("mxf8f6f4", "", PLAIN, sfa=f"%r7+{SFA}"),
        move + copies().replace("[%r2", "[%r7"),
    ):
        with pytest.raises(TensorMemoryError, match="begin in lane 0"):
            run(product(text, N, 1, 128), np.zeros((128, N), np.float32), shared)


@pytest.mark.parametrize(
    "text",
    [
        scaled("mxf4nvf4", "", PLAIN),
        scaled("mxf8f6f4", ".block16", PLAIN),
        scaled("mxf8f6f4", ".scale_vec::2X", PLAIN),
        scaled("f16", "", PLAIN),
        copies(form="4x256b"),
        copies(form="32x128b.warpx4.b8x16.b6x16_p32"),
    ],
)
def test_other_forms_are_unknown(text: str) -> None:
    with pytest.raises(UnknownInstructionError):
        run(product(text, N, 1, 128), np.zeros((128, N), np.float32), plain()[2])


# in registers -------------------------------------------------------------------------------------------------------
def containers(kind: str, values: Any, depth: int) -> Any:
    """Bytes of a row: one for each element, or for two of them."""
    codes = values.astype(np.float32).astype(ARRAYS[kind]).view(np.uint8)
    if depth == 64:
        return codes[:, ::2] | codes[:, 1::2] << 4
    return codes << 2 if kind == "e2m1" else codes


def fragments(rows: Any) -> Any:
    """Registers of each thread: words of rows g, g + 8, ... by (thread, register), the next words behind them."""
    words = np.ascontiguousarray(rows).view(np.uint32)
    thread = np.arange(32)
    parts = [words[thread // 4 + 8 * low, thread % 4 + 4 * high] for high in range(2) for low in range(len(rows) // 8)]
    return np.stack(parts, axis=1)


def mma_sync(words: str, a: Any, b: Any, scales: Any, chosen: str, of_b: tuple[int, int] = (0, 0)) -> Any:
    """The sums of a warp, 16 by 8, from 1 on. `of_b` is in the registers that `chosen` may name."""
    gpu = Handwritten()
    given = gpu.array(np.concatenate([fragments(a), fragments(b), scales], axis=1))
    out = gpu.array(np.zeros((32, 4), np.float32))
    loads = "".join(f"ld.global.u32 %r{20 + i}, [%d3+{4 * i}];" for i in range(8))
    stores = "".join(f"st.global.u32 [%d1+{4 * i}], %r{40 + i};" for i in range(4))
    gpu.run(
        f"""ld.param.u64 %d0, [p0]; mul.wide.u32 %d1, %r0, 16; add.s64 %d1, %d0, %d1; mov.u32 %r30, 0x3F800000;
        mov.u16 %h2, {of_b[0]}; mov.u16 %h3, {of_b[1]};
        ld.param.u64 %d2, [p1]; mul.wide.u32 %d3, %r0, 32; add.s64 %d3, %d2, %d3; {loads}
        mma.sync.aligned.{words} {{%r40, %r41, %r42, %r43}}, {{%r20, %r21, %r22, %r23}}, {{%r24, %r25}},
            {{%r30, %r30, %r30, %r30}}{chosen}; {stores}""",
        out,
        given,
    )
    found = gpu.values(out, np.zeros((32, 4), np.float32)).reshape(8, 4, 2, 2)
    return found.transpose(2, 0, 1, 3).reshape(16, 8)


SYNC = [
    ("m16n8k32", "mxf8f6f4", ".scale_vec::1X", "e4m3", "e5m2", 1, "ue8m0", (0, 0, 0, 0)),
    ("m16n8k32", "mxf8f6f4", "", "e2m1", "e3m2", 1, "ue8m0", (3, 1, 2, 3)),
    ("m16n8k32", "mxf8f6f4", "", "e2m3", "e4m3", 1, "ue8m0", (1, 0, 1, 1)),
    ("m16n8k64", "mxf4", "", "e2m1", "e2m1", 2, "ue8m0", (2, 1, 0, 2)),
    ("m16n8k64", "mxf4nvf4", ".scale_vec::2X", "e2m1", "e2m1", 2, "ue8m0", (0, 0, 2, 0)),
    ("m16n8k64", "mxf4nvf4", ".scale_vec::4X", "e2m1", "e2m1", 4, "ue4m3", (0, 1, 0, 3)),
]


@pytest.mark.parametrize("is_shape_first", [True, False])
@pytest.mark.parametrize(("shape", "kind", "vector", "left", "right", "count", "scale", "chosen"), SYNC)
def test_products_with_scales_in_registers(
    shape: str, kind: str, vector: str, left: str, right: str, count: int, scale: str, chosen: tuple[int, ...],
    is_shape_first: bool,
) -> None:  # fmt: skip
    depth = int(shape[6:])
    rng = np.random.default_rng(1)
    a, b = rng.integers(-2, 3, (16, depth)), rng.integers(-2, 3, (8, depth))
    codes = scale_codes(scale, 16, 2), scale_codes(scale, 8, 3)
    scales = np.full((32, 2), 0xFFFFFFFF, np.uint32)
    for row in range(16):
        scales[row % 8 * 4 + 2 * chosen[1] + row // 8, 0] = codes[0][row].view(np.uint32)[0]
    for column in range(8):
        scales[column * 4 + chosen[3], 1] = codes[1][column].view(np.uint32)[0]
    form = f"kind::{kind}.block_scale{vector}"
    words = f"{shape}.row.col.{form}" if is_shape_first else f"{form}.{shape}.row.col"
    which = f", %r26, {{{chosen[0]}, {chosen[1]}}}, {{%r27}}, {{%h2, %h3}}"
    rows = containers(left, a, depth), containers(right, b, depth)
    found = mma_sync(f"{words}.f32.{left}.{right}.f32.{scale}", *rows, scales, which, (chosen[2], chosen[3]))
    x = a * factors(codes[0], scale, chosen[0], count, depth)
    y = b * factors(codes[1], scale, chosen[2], count, depth)
    np.testing.assert_array_equal(found, x @ y.T + 1)


def test_narrow_types_without_scales() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-2, 3, (16, 32)), rng.integers(-2, 3, (8, 32))
    rows = containers("e2m1", a, 32), containers("e3m2", b, 32)
    found = mma_sync("m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", *rows, np.zeros((32, 2), np.uint32), "")
    np.testing.assert_array_equal(found, a @ b.T + 1)


@pytest.mark.parametrize(
    "words",
    [
        "m16n8k32.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
        "m16n8k64.row.col.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
        "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue4m3",
    ],
)
def test_other_scales_are_unknown(words: str) -> None:
    blank = np.zeros((16, 32), np.uint8), np.zeros((8, 32), np.uint8), np.zeros((32, 2), np.uint32)
    with pytest.raises(UnknownInstructionError):
        mma_sync(words, *blank, ", %r26, {0, 0}, %r27, {0, 0}")


@pytest.mark.parametrize("chosen", ["{1, 0}, %r27, {0, 0}", "{0, 2}, %r27, {0, 0}", "{0, 0}, %r27, {0, 4}"])
def test_bytes_and_threads_that_there_are_not_are_refused(chosen: str) -> None:
    blank = np.zeros((16, 32), np.uint8), np.zeros((8, 32), np.uint8), np.zeros((32, 2), np.uint32)
    words = "m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
    with pytest.raises(UnknownInstructionError, match="of threads"):
        mma_sync(words, *blank, f", %r26, {chosen}")

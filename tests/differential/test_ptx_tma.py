"""The PTX simulator: TMA copies and copies of rows, as late as they may, by kernels that are written by hand."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.ptx.handwritten import ORDERS, OUT, Handwritten, first, wait
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.clusters import Order, StuckError
from triptych.ptxsim.memory import AccessError, UnfencedError
from triptych.ptxsim.tensor_maps import MapError


def boxes(dims: int, body: str) -> str:
    """`body` with a map at `%d2` and the coordinates in `%r20`, ... from the numbers at `p1`."""
    loads = "".join(f"ld.global.u32 %r{20 + i}, [%d4+{4 * i}];" for i in range(dims))
    return f"mov.b64 %d3, p0; cvta.param.u64 %d2, %d3; ld.param.u64 %d4, [p1]; {loads} {body}"


def coordinates(dims: int) -> str:
    return "{" + ", ".join(f"%r{20 + i}" for i in range(dims)) + "}"


def load_box(dims: int, size: int, form: str = "shared::cluster") -> str:
    copy = f"cp.async.bulk.tensor.{dims}d.{form}.global.tile.mbarrier::complete_tx::bytes"
    return (
        "mbarrier.init.shared.b64 [%r1], 1; fence.mbarrier_init.release.cluster;"
        f"mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {size};"
        f"{copy} [%r1+1024], [%d2, {coordinates(dims)}], [%r1];"
    )


def reference_box(values: Any, start: tuple[int, ...], box: tuple[int, ...]) -> Any:
    """By the words of the manual, element by element."""
    result = np.zeros(tuple(reversed(box)), values.dtype)
    for place in itertools.product(*map(range, result.shape)):
        index = tuple(a + b for a, b in zip(place, reversed(start), strict=True))
        if all(0 <= i < extent for i, extent in zip(index, values.shape, strict=True)):
            result[place] = values[index]
    return result


def swizzled(data: Any, swizzle: int) -> Any:
    """Bytes of a buffer that begins at a multiple of 1024, each 16 of them where a GPU lays them down."""
    chunks = data.reshape(-1, 16)
    number = np.arange(len(chunks))
    result = np.zeros_like(chunks)
    result[number ^ (number >> 3 & (1 << swizzle) - 1)] = chunks
    return result.reshape(-1)


DUMP = """
    bar.sync 0;
    ld.param.u64 %d5, [p2];
    mov.u32 %r2, %r0;
dump:
    mad.lo.u32 %r3, %r2, 4, %r1;
    ld.shared.u32 %r4, [%r3+1024];
    mul.wide.u32 %d6, %r2, 4;
    add.s64 %d6, %d5, %d6;
    st.global.u32 [%d6], %r4;
    add.u32 %r2, %r2, 32;
    setp.lt.u32 %p2, %r2, {words};
    @%p2 bra dump;
"""
CASES = [
    (np.float32, (37,), (16,), (-3,), 0),
    (np.float16, (10, 40), (32, 8), (16, 5), 2),
    (np.float16, (20, 72), (64, 16), (-8, -3), 3),
    (np.uint8, (3, 9, 48), (32, 4, 2), (0, 7, 2), 1),
    (np.int32, (2, 3, 4, 12), (8, 3, 2, 2), (6, -1, 1, 0), 1),
    (ml_dtypes.bfloat16, (2, 2, 3, 3, 16), (8, 2, 2, 1, 2), (8, 1, 2, 0, 1), 0),
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("dtype", "shape", "box", "start", "swizzle"), CASES)
def test_tma_boxes_are_loaded(dtype: Any, shape: Any, box: Any, start: Any, swizzle: int, order: Order) -> None:
    machine = Handwritten(order)
    values = np.arange(1, 1 + np.prod(shape)).astype(dtype).reshape(shape)
    expected = reference_box(values, start, box)
    tensor = machine.map(machine.array(values), values, box, swizzle=swizzle)
    place = machine.array(np.array(start, np.int32))
    out = machine.array(np.zeros(-(-expected.nbytes // 128) * 128, np.uint8))
    dims = len(shape)
    body = boxes(dims, first(load_box(dims, expected.nbytes)) + "bar.sync 0;" + wait())
    machine.run(body + DUMP.format(words=expected.nbytes // 4), tensor, place, out)
    found = machine.values(out, np.zeros(expected.nbytes, np.uint8))
    whole = -(-expected.nbytes // 1024) * 1024
    laid = np.zeros(whole, np.uint8)
    laid[: expected.nbytes] = expected.reshape(-1).view(np.uint8)
    np.testing.assert_array_equal(found, swizzled(laid, swizzle)[: expected.nbytes])


STORES = [
    ("", np.float16, (10, 40), (32, 8), (16, 5), 2),
    ("", np.uint8, (3, 9, 48), (32, 4, 2), (-16, 7, 2), 1),
    ("add", np.float32, (7, 20), (16, 4), (8, 5), 0),
    ("add", ml_dtypes.bfloat16, (40,), (16,), (-4,), 0),
    ("min", np.int32, (7, 20), (16, 4), (8, 5), 0),
    ("max", np.float16, (7, 24), (16, 4), (8, 5), 0),
    ("inc", np.uint32, (7, 20), (16, 4), (8, 5), 0),
    ("dec", np.uint32, (7, 20), (16, 4), (8, 5), 0),
    ("and", np.uint32, (7, 20), (16, 4), (8, 5), 0),
    ("or", np.int64, (7, 20), (4, 4), (17, 5), 0),
    ("xor", np.uint64, (7, 20), (4, 4), (0, -1), 0),
]
IN_MEMORY = {
    "": lambda old, new: new,
    "add": lambda old, new: old + new,
    "min": np.minimum,
    "max": np.maximum,
    "inc": lambda old, new: 0 if old >= new else old + 1,
    "dec": lambda old, new: new if old == 0 or old > new else old - 1,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
}


@pytest.mark.parametrize(("kind", "dtype", "shape", "box", "start", "swizzle"), STORES)
def test_tma_boxes_are_stored(kind: str, dtype: Any, shape: Any, box: Any, start: Any, swizzle: int) -> None:
    """Shared memory is filled by a row copy; what lies outside is not stored."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 60, shape).astype(dtype)
    given = rng.integers(0, 60, tuple(reversed(box))).astype(dtype)
    whole = np.zeros(-(-given.nbytes // 1024) * 1024, np.uint8)
    whole[: given.nbytes] = given.reshape(-1).view(np.uint8)
    expected = values.copy()
    for place in itertools.product(*map(range, given.shape)):
        index = tuple(a + b for a, b in zip(place, reversed(start), strict=True))
        if all(0 <= i < extent for i, extent in zip(index, values.shape, strict=True)):
            expected[index] = IN_MEMORY[kind](expected[index], given[place])  # type: ignore[operator]
    for order in ORDERS:
        machine = Handwritten(order)
        memory = machine.array(values)
        tensor = machine.map(memory, values, box, swizzle=swizzle)
        place_of = machine.array(np.array(start, np.int32))
        source = machine.array(swizzled(whole, swizzle))
        dims = len(shape)
        name = f"cp.reduce.async.bulk.tensor.{dims}d" if kind else f"cp.async.bulk.tensor.{dims}d"
        body = boxes(dims, f"""
    ld.param.u64 %d5, [p2];
    mbarrier.init.shared.b64 [%r1], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {len(whole)};
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+1024], [%d5], {len(whole)}, [%r1];
    {wait()}
    {name}.global.shared::cta{"." if kind else ""}{kind}.bulk_group [%d2, {coordinates(dims)}], [%r1+1024];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
""")  # fmt: skip
        machine.run(body, tensor, place_of, source, threads=1)
        np.testing.assert_array_equal(machine.values(memory, values), expected)


def test_what_a_store_waits_for() -> None:
    """Until the wait memory is as it was; `.read` waits for shared memory only; groups are the thread's own."""
    body = f"""{OUT}
    st.shared.v4.u32 [%r1], {{1, 2, 3, 4}};
    fence.proxy.async.shared::cta;
    cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 16;
    cp.async.bulk.commit_group;
    ld.global.u32 %r2, [%d0];
    st.global.u32 [%d0+16], %r2;
    cp.async.bulk.wait_group.read 0;
    st.shared.v4.u32 [%r1], {{5, 6, 7, 8}};
    fence.proxy.async.shared::cta;
    ld.global.u32 %r2, [%d0];
    st.global.u32 [%d0+20], %r2;
    cp.async.bulk.global.shared::cta.bulk_group [%d0+32], [%r1], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 1;
    ld.global.u32 %r2, [%d0];
    ld.global.u32 %r3, [%d0+32];
    st.global.v2.u32 [%d0+24], {{%r2, %r3}};
"""
    machine = Handwritten()
    out = machine.array(np.full(12, 99, np.uint32))
    machine.run(body, out, threads=1)
    assert machine.values(out, np.zeros(12, np.uint32)).tolist() == [1, 2, 3, 4, 99, 99, 1, 99, 5, 6, 7, 8]


def test_rows_are_added_in_memory() -> None:
    body = f"""{OUT}
    mad.lo.u32 %r2, %r0, 4, %r1;
    cvt.rn.f32.u32 %r3, %r0;
    st.shared.u32 [%r2], %r3;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    {first("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d0], [%r1], 128;")}
"""
    machine = Handwritten()
    values = np.arange(32, dtype=np.float32)
    out = machine.array(values)
    machine.run(body, out)
    np.testing.assert_array_equal(machine.values(out, values), 2 * values)


COPY_16 = "cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 16;"
FENCE = "fence.proxy.async;"


def test_stores_that_nobody_fenced_are_an_error() -> None:
    machine = Handwritten()
    out = machine.array(np.zeros(4, np.uint32))
    own = OUT + "st.shared.u32 [%r1], 7;"
    with pytest.raises(UnfencedError, match="byte 1024 of shared memory was stored by a thread"):
        machine.run(own + COPY_16, out, threads=1)
    machine.run(own + FENCE + COPY_16, out, threads=1)
    with pytest.raises(UnfencedError):  # written again while it is read
        machine.run(own + FENCE + COPY_16 + "st.shared.u32 [%r1], 8;", out, threads=1)
    everybody = OUT + "mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0;"
    machine.run(everybody + FENCE + "bar.sync 0;" + first(COPY_16), out)
    machine.run(everybody + "bar.sync 0;" + first(FENCE + COPY_16), out)
    with pytest.raises(UnfencedError):  # a fence before the others have come is none of theirs
        machine.run(everybody + first(FENCE) + "bar.sync 0;" + first(COPY_16), out)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"base": 8}, "address"),
        ({"extents": (0, 8)}, "extents"),
        ({"extents": (1 << 33, 8)}, "extents"),
        ({"strides": (24,)}, "strides"),
        ({"strides": (1 << 40,)}, "strides"),
        ({"box": (0, 4)}, "box"),
        ({"box": (8, 257)}, "box"),
        ({"box": (6, 4)}, "row"),
        ({"box": (40, 4), "swizzle": 2}, "row"),
        ({"steps": (1, 9)}, "element strides"),
        ({"extents": (), "strides": (), "box": ()}, "rank"),
        ({"fill": 1, "dtype": np.int32}, "NaN"),
        ({"swizzle": 5}, "mode"),
    ],
)
def test_maps_that_a_driver_refuses(changed: dict[str, Any], words: str) -> None:
    machine = Handwritten()
    good: dict[str, Any] = {
        "base": 1 << 20, "dtype": np.float16, "extents": (64, 8), "strides": (128,), "box": (8, 4)
    }  # fmt: skip
    assert machine.encode(**good)[0] == 0
    assert machine.encode(**(good | changed))[0] == 1, words


def test_a_map_is_changed_in_memory_and_used_after_a_fence() -> None:
    values = np.arange(64, dtype=np.float32)
    for is_fenced in (True, False):
        machine = Handwritten()
        memory = machine.array(values)
        tensor = machine.map(memory, values, (8,))
        kept = machine.array(np.zeros(128, np.uint8))
        out = machine.array(np.zeros(16, np.float32))
        acquire = "fence.proxy.tensormap::generic.acquire.gpu [%d7], 128;" if is_fenced else ""
        body = f"""
    mov.b64 %d3, p0; cvta.param.u64 %d2, %d3; ld.param.u64 %d7, [p1]; ld.param.u64 %d5, [p2];
    mul.wide.u32 %d8, %r0, 4; add.s64 %d9, %d2, %d8; ld.u32 %r2, [%d9];
    mad.lo.u32 %r3, %r0, 4, %r1; st.shared.u32 [%r3+128], %r2;
    add.s64 %d9, %d7, %d8; st.global.u32 [%d9], %r2;
    bar.sync 0;
    {
            first(
                '''
    mbarrier.init.shared.b64 [%r1], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 32;
    cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r1+256], [%d7, {8}], [%r1];
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1+128], 0, 12;
    add.s64 %d3, %d10, 64;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1+128], %d3;
    '''.replace("%d10", "%d11")
            )
        }
    {wait()}
    bar.warp.sync -1;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d7], [%r1+128], 128;
    {acquire}
    {
            first('''
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 32;
    cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r1+384], [%d7, {8}], [%r1];
    ''')
        }
    {wait(parity=1)}
    mad.lo.u32 %r3, %r0, 4, %r1; ld.shared.u32 %r4, [%r3+256]; ld.shared.u32 %r5, [%r3+384];
    setp.ge.u32 %p1, %r0, 8;
    @%p1 bra end;
    add.s64 %d9, %d5, %d8; st.global.u32 [%d9], %r4; st.global.u32 [%d9+32], %r5;
    end:
"""
        body = f"ld.param.u64 %d11, [p3];{body}"
        machine.run(body, tensor, kept, out, memory)
        found = machine.values(out, np.zeros(16, np.float32))
        np.testing.assert_array_equal(found[:8], values[8:16])
        changed = [*values[24:28], 0, 0, 0, 0] if is_fenced else values[8:16]
        np.testing.assert_array_equal(found[8:], changed)


def test_mistakes_in_copies_are_named() -> None:
    machine = Handwritten()
    values = np.zeros(64, np.float32)
    memory = machine.array(values)
    tensor, place = machine.map(memory, values, (8,)), machine.array(np.zeros(1, np.int32))
    load = load_box(1, 32)
    with pytest.raises(StuckError, match=r"still under way: cp\.async\.bulk\.tensor"):
        machine.run(boxes(1, load), tensor, place, threads=1)
    with pytest.raises(AccessError, match="no multiple of 128"):
        machine.run(boxes(1, load.replace("+1024", "+1040")), tensor, place, threads=1)
    with pytest.raises(MapError, match="no tensor map"):
        machine.run(boxes(1, load), bytes(128), place, threads=1)
    with pytest.raises(MapError, match="2 coordinates in a tensor of rank 1"):
        machine.run(boxes(1, load.replace("1d", "2d").replace("{%r20}", "{%r20, %r20}")), tensor, place, threads=1)
    with pytest.raises(UnknownInstructionError, match="im2col"):
        machine.run(boxes(1, load.replace(".tile", ".im2col")), tensor, place, threads=1)
    with pytest.raises(AccessError, match="multiples of 16"):
        machine.run(OUT + COPY_16.replace("16;", "8;"), memory, threads=1)
    with pytest.raises(StuckError, match="16 bytes are missing"):
        machine.run(boxes(1, load_box(1, 48) + wait()), tensor, place, threads=1)

"""The PTX simulator: tensor memory, who may touch what of it and when, in kernels written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ptx.handwritten import ORDERS, first
from tests.support.ptx.tensor_kernels import begun, freed, met, registers, run, stored, warp
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.clusters import Order, StuckError
from triptych.ptxsim.tensor_memory import TensorMemoryError

WORDS = np.zeros((128, 8), np.uint32)
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1+64], {};"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 {}, {};"
PERMIT = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
WAIT_LD, WAIT_ST = "tcgen05.wait::ld.sync.aligned;", "tcgen05.wait::st.sync.aligned;"
NUMBERED = "".join(f"mad.lo.u32 %r{200 + i}, %r0, 100, {i};" for i in range(8))
"""Registers 200 to 207 of thread t: 100 t, 100 t + 1, ..."""
STORE = f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r3], {{{registers(8, 200)}}};"
LOAD = f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {{{registers(8)}}}, [%r3];"
END = met() + freed(32)
TABLE = 100 * np.arange(128)[:, None] + np.arange(8)
"""What STORE puts into lanes and columns."""


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_stored_and_awaited_is_loaded(order: Order) -> None:
    body = begun(32) + NUMBERED + STORE + WAIT_ST + LOAD + WAIT_LD + stored(8) + END
    np.testing.assert_array_equal(run(body, WORDS, order=order), TABLE)


def places(shape: str, thread: int, register: int) -> tuple[int, int]:
    """Lane and column, as the figures of the manual show them."""
    row, pair = thread // 4, thread % 4
    if shape == "16x64b":
        return row + 8 * (pair % 2), 2 * register + pair // 2
    if shape == "16x128b":
        return row + 8 * (register % 2), 4 * (register // 2) + pair
    if shape == "16x256b":
        return row + 8 * (register // 2 % 2), 8 * (register // 4) + 2 * pair + register % 2
    return thread % 16, register + (4 if thread >= 16 else 0)


@pytest.mark.parametrize(
    ("shape", "repeat", "count", "rest"),
    [("16x64b", 4, 4, ""), ("16x128b", 2, 4, ""), ("16x256b", 1, 4, ""), ("16x32bx2", 4, 4, ", 4")],
)
@pytest.mark.parametrize("lane", [0, 16])
def test_shapes_of_loads(shape: str, repeat: int, count: int, rest: str, lane: int) -> None:
    load = f"tcgen05.ld.sync.aligned.{shape}.x{repeat}.b32 {{{registers(count)}}}, [%r6]{rest};"
    body = begun(32) + NUMBERED + STORE + WAIT_ST + f"add.u32 %r6, %r3, {lane << 16};" + load + WAIT_LD
    found = run(body + stored(count) + END, np.zeros((128, count), np.uint32))
    for thread in range(128):
        for register in range(count):
            row, column = places(shape, thread % 32, register)
            assert found[thread, register] == TABLE[thread // 32 * 32 + row + lane, column]


@pytest.mark.parametrize(("shape", "repeat", "rest"), [("16x256b", 1, ""), ("16x64b", 4, ""), ("16x32bx2", 4, "4, ")])
def test_shapes_of_stores(shape: str, repeat: int, rest: str) -> None:
    store = f"tcgen05.st.sync.aligned.{shape}.x{repeat}.b32 [%r3], {rest}{{{registers(4, 200)}}};"
    found = run(begun(32) + NUMBERED + store + WAIT_ST + LOAD + WAIT_LD + stored(8) + END, WORDS)
    for thread in range(128):
        for register in range(4):
            row, column = places(shape, thread % 32, register)
            assert found[thread // 32 * 32 + row, column] == 100 * thread + register


def test_halves_are_packed_and_unpacked() -> None:
    store = f"tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32 [%r3], {{{registers(4, 200)}}};"
    load = f"tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {{{registers(2, 108)}}}, [%r3];"
    wide = "".join(f"shl.b32 %r210, %r{200 + i}, 15; or.b32 %r{200 + i}, %r{200 + i}, %r210;" for i in range(4))
    body = begun(32) + NUMBERED + wide + store + WAIT_ST + LOAD + load + WAIT_LD + stored(10) + END
    found = run(body, np.zeros((128, 10), np.uint32))
    word = TABLE[:, :4] | TABLE[:, :4] << 15
    np.testing.assert_array_equal(found[:, :8:2], word & 0xFFFF)
    np.testing.assert_array_equal(found[:, 1:8:2], word >> 16)
    np.testing.assert_array_equal(found[:, 8:], word[:, :2])


def test_a_register_of_a_load_may_be_used_without_a_wait() -> None:
    """As late as that: a store that is complete before the first use is seen."""
    again = STORE + WAIT_ST
    body = begun(32) + NUMBERED + LOAD + again + stored(8) + END
    np.testing.assert_array_equal(run(body, WORDS), TABLE)
    assert not (run(body, WORDS, order="early") == TABLE).any()


def test_a_load_before_the_wait_for_a_store_finds_junk() -> None:
    body = begun(32) + NUMBERED + STORE + LOAD + WAIT_LD + stored(8) + WAIT_ST + END
    assert (run(body, WORDS) == 0xFFFDFFFD).all()


def test_the_address_is_where_the_columns_are() -> None:
    """Of two allocations each has its own."""
    second = warp(ALLOC.format(32).replace("64", "72")) + met() + "ld.shared.u32 %r6, [%r1+72];"
    body = begun(64) + second + "st.global.u32 [%d0], %r2; st.global.u32 [%d0+4], %r6;" + met()
    found = run(body + warp(DEALLOC.format("%r6", 32)) + freed(64), WORDS)
    assert found[0, :2].tolist() == [512 - 64, 512 - 96]


AT_ISSUE = NUMBERED + STORE
WRONG: dict[str, tuple[str, str]] = {
    "quarter": (
        begun(32) + LOAD.replace("%r3", "%r2") + END,
        "warp 1 reaches lanes 32 to 63, and the address is in lane 0",
    ),
    "lane": (begun(32) + "add.u32 %r3, %r3, 65536;" + LOAD + END, "lane 1 is no multiple of 32"),
    "beyond": (begun(512) + "add.u32 %r3, %r3, 508;" + LOAD + met() + freed(512), "columns 508 to 515 of 512"),
    "never": (begun(32) + "sub.u32 %r3, %r3, 8;" + LOAD + END, "column 472 is not allocated"),
    "freed": (begun(32) + met() + freed(32) + met() + LOAD, "column 480 is freed"),
    "twice": (begun(32) + END + freed(32), "lane 0, column 480 was freed before"),
    "elsewhere": (begun(32) + met() + warp(DEALLOC.format("%r3", 32), 1), "is the beginning of no allocation"),
    "fewer": (begun(64) + met() + freed(32), "32 columns are freed, and 64 were allocated"),
    "after the permit": (begun(32) + warp(PERMIT + ALLOC.format(32)), "the permit was given up before"),
    "growing": (begun(32) + warp(ALLOC.format(64)), "64 columns after 32: allocations may not grow"),
    "too many": (begun(512) + warp(ALLOC.format(32)), "it waits for ever, for 32 columns"),
    "no power": (begun(48), "48 columns, which is no power of two from 32 to 512"),
    "left": (begun(32), "columns 480 to 511 are still allocated"),
    "groups": (
        begun(32) + warp(DEALLOC.replace("::1", "::2").format("%r2", 32)),
        "others of this kernel have cta_group",
    ),
    "under way": (begun(32) + AT_ISSUE + END, "column 480 is freed while this is under way: tcgen05.st"),
    "no address": (begun(32) + "or.b32 %r3, %r3, 0x40000000;" + LOAD + END, "is no address of tensor memory"),
    "operands": (begun(32) + "add.u32 %r3, %r3, %r0;" + LOAD + END, "do not agree on an operand"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_forbidden_is_refused(name: str) -> None:
    body, message = WRONG[name]
    with pytest.raises(TensorMemoryError, match=message):
        run(body, WORDS)


def test_a_part_of_a_warp_waits_for_the_others() -> None:
    with pytest.raises(StuckError, match=r"1 threads at tcgen05\.wait"):
        run(begun(32) + first(WAIT_LD + "exit;") + "bar.sync 0; " + END, WORDS)


def test_a_part_of_a_warp_is_refused() -> None:
    with pytest.raises(TensorMemoryError, match="31 threads of warp 0"):
        run(begun(32) + first("exit;") + LOAD + END, WORDS)


@pytest.mark.parametrize(
    "text",
    [
        "tcgen05.ld.sync.aligned.32x32b.x3.b32 {%r100, %r101, %r102}, [%r3];",
        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r100}, [%r3];",
        "tcgen05.ld.red.sync.aligned.16x64b.x2.max.f32 {%r100, %r101}, %r102, [%r3];",
        "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r100}, [%r3];",
        "tcgen05.shift.cta_group::1.down [%r3];",
        "tcgen05.fence::after_thread_sync.sync;",
    ],
)
def test_other_forms_are_unknown(text: str) -> None:
    with pytest.raises(UnknownInstructionError):
        run(begun(32) + text + END, WORDS)


def test_each_block_begins_with_junk_and_all_its_columns() -> None:
    """The second of a grid does not find what the first has stored."""
    body = begun(512) + LOAD + WAIT_LD + stored(8) + NUMBERED + STORE + WAIT_ST + met() + freed(512)
    assert (run(body, WORDS, blocks=2) == 0xFFFDFFFD).all()

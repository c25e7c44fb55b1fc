"""Copy atoms: which bits each thread of an instruction gives and gets, and what no instruction does."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import CopyUniversalOp, LoadCacheMode, cpasync, warp
from triptych.cute.tracing.errors import CopyInstructionError
from triptych.kernel_ir.dialects.matrix_copies import MATRIX_LOADS, MATRIX_STORES, Form, MatrixCopy
from triptych.layout import Layout, parse

# the sides of the instructions, (thread, bit) -> number of a bit ---------------------------------------------------
ROWS = {1: "((8,4),128):((128,0),1)", 2: "((16,2),128):((128,0),1)", 4: "(32,128):(128,1)"}
WORDS = {1: "(32,32):(32,1)", 2: "(32,(32,2)):(32,(1,1024))", 4: "(32,(32,4)):(32,(1,1024))"}
HALVES = {
    1: "((4,8),(16,2)):((256,16),(1,128))",
    2: "((4,8),(16,2,2)):((256,16),(1,128,1024))",
    4: "((4,8),(16,2,4)):((256,16),(1,128,1024))",
}
BYTES = {
    1: "((4,8),(8,2,2)):((256,8),(1,128,64))",
    2: "((4,8),(8,2,2,2)):((256,8),(1,128,64,1024))",
    4: "((4,8),(8,2,2,4)):((256,8),(1,128,64,1024))",
}
FACTS: list[tuple[str, MatrixCopy, str, str]] = []
for count in (1, 2, 4):
    loads, stores = MATRIX_LOADS, MATRIX_STORES
    for name, forms in (("ldmatrix", loads), ("stmatrix", stores)):
        FACTS += [
            (f"{name}.m8n8.x{count}.b16", forms[Form("8x8x16b", False, count)], ROWS[count], WORDS[count]),
            (f"{name}.m8n8.x{count}.trans.b16", forms[Form("8x8x16b", True, count)], ROWS[count], HALVES[count]),
        ]
    FACTS += [
        (f"ldmatrix.m8n8.x{count}.b16", loads[Form("8x16x8b", False, count)], ROWS[count], WORDS[count]),
        (
            f"ldmatrix.m8n16.x{count}.b8x16.b4x16_p64",
            loads[Form("8x16x8b", False, count, 4)],
            ROWS[count],
            WORDS[count],
        ),
        (f"stmatrix.m16n8.x{count}.trans.b8", stores[Form("16x8x8b", True, count)], ROWS[count], BYTES[count]),
    ]
FACTS += [
    (
        "ldmatrix.m16n16.x1.trans.b8",
        MATRIX_LOADS[Form("16x8x8b", True, 2)],
        "((2,2,4,2),128):((128,1024,256,0),1)",
        BYTES[2],
    ),
    (
        "ldmatrix.m16n16.x2.trans.b8",
        MATRIX_LOADS[Form("16x8x8b", True, 4)],
        "((2,2,4,2),128):((128,1024,256,2048),1)",
        BYTES[4],
    ),
    (
        "ldmatrix.m16n16.x1.trans.b8",
        MATRIX_LOADS[Form("16x16x8b", True, 1)],
        ROWS[2],
        "((4,8),(8,4,2)):((512,8),(1,128,64))",
    ),
]


@pytest.mark.parametrize(("name", "instruction", "memory", "registers"), FACTS)
def test_sides_of_an_instruction(name: str, instruction: MatrixCopy, memory: str, registers: str) -> None:
    assert instruction.name == name
    assert (instruction.in_memory, instruction.in_registers) == (parse(memory), parse(registers))


@pytest.mark.parametrize("instruction", [*MATRIX_LOADS.values(), *MATRIX_STORES.values()], ids=lambda entry: entry.name)
def test_every_bit_is_in_a_row_and_in_a_register(instruction: MatrixCopy) -> None:
    """Each bit is in one register; each is in the row of a thread, threads without a row of their own repeat one."""
    bits = instruction.registers * 32 * 32
    held = sorted(instruction.in_registers(i) for i in range(cute.size(instruction.in_registers)))
    rows = {instruction.in_memory(i) for i in range(cute.size(instruction.in_memory))}
    assert held == list(range(bits))
    assert rows == set(held)


def test_rows_are_those_whose_addresses_the_first_threads_give() -> None:
    """The exchange of halves makes a 16x16 load two 16x8 ones: thread t still gives the address of one row."""
    square, halves = MATRIX_LOADS[Form("16x16x8b", True, 1)], MATRIX_LOADS[Form("16x8x8b", True, 2)]
    for lane in range(32):
        for byte in range(8):
            register, place = divmod(byte, 4)
            # register r of the instruction: bytes 0, 1 go to the first one's half r, bytes 2, 3 to the second one's
            moved = 4 * (place // 2) + 2 * register + place % 2
            number = square.in_registers((lane, 8 * byte))
            row = [thread for thread in range(16) if square.in_memory((thread, 0)) == number // 128 * 128]
            after = halves.in_registers((lane, 8 * moved))
            start = halves.in_memory((row[0], 0))
            assert after == start + number % 128


def test_generations() -> None:
    since = {copy.name.partition(".x")[0]: copy.since for copy in (*MATRIX_LOADS.values(), *MATRIX_STORES.values())}
    assert since == {
        "ldmatrix.m8n8": 75,
        "ldmatrix.m8n16": 100,
        "ldmatrix.m16n16": 100,
        "stmatrix.m8n8": 90,
        "stmatrix.m16n8": 100,
    }


# atoms count elements ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("op", "dtype", "source", "destination"),
    [
        (warp.LdMatrix8x8x16bOp(False, 4), tt.Float16, "(32,8):(8,1)", "(32,(2,4)):(2,(1,64))"),
        (warp.LdMatrix8x8x16bOp(True, 4), tt.BFloat16, "(32,8):(8,1)", "((4,8),(1,2,4)):((16,1),(1,8,64))"),
        (warp.LdMatrix8x8x16bOp(False, 1), tt.Float16, "((8,4),8):((8,0),1)", "(32,2):(2,1)"),
        (warp.LdMatrix8x8x16bOp(False, 4), tt.Float32, "(32,4):(4,1)", "(32,(1,4)):(1,(1,32))"),
        (warp.LdMatrix8x16x8bOp(False, 4), tt.Float8E4M3FN, "(32,16):(16,1)", "(32,(4,4)):(4,(1,128))"),
        (warp.StMatrix8x8x16bOp(False, 2), tt.Float16, "(32,(2,2)):(2,(1,64))", "((16,2),8):((8,0),1)"),
        (cpasync.CopyG2SOp(), tt.Float16, "(1,8):(0,1)", "(1,8):(0,1)"),
        (CopyUniversalOp(), tt.Float32, "(1,4):(0,1)", "(1,4):(0,1)"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_atom_in_elements(op: Any, dtype: Any, source: str, destination: str) -> None:
    alone = source.startswith("(1,")
    atom = cute.make_copy_atom(op, dtype, num_bits_per_copy=128 if alone else 0)
    assert (atom.layout_src_tv, atom.layout_dst_tv) == (parse(source), parse(destination))
    assert atom.thr_id == (Layout(1, 0) if alone else Layout(32, 1))


def test_names() -> None:
    assert str(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), tt.Float16)) == "LdMatrix8x8x16bOp<Float16>"
    assert cpasync.LoadCacheMode is LoadCacheMode
    assert warp.LdMatrix8x8x16bOp(True, 4) == warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4)
    assert len({warp.StMatrix8x8x16bOp(), warp.StMatrix8x8x16bOp(False, 1), warp.LdMatrix8x8x16bOp()}) == 2


# what there is not ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("op", "wrong"),
    [
        (warp.LdMatrix8x8x16bOp, {"num_matrices": 3}),
        (warp.LdMatrix8x8x16bOp, {"unpack_bits": 4}),
        (warp.LdMatrix8x16x8bOp, {"transpose": True}),
        (warp.LdMatrix8x16x8bOp, {"unpack_bits": 5}),
        (warp.LdMatrix16x8x8bOp, {"transpose": True, "num_matrices": 1}),
        (warp.LdMatrix16x16x8bOp, {"num_matrices": 1}),
        (warp.LdMatrix16x16x8bOp, {"transpose": True, "num_matrices": 4}),
        (warp.StMatrix16x8x8bOp, {"num_matrices": 1}),
        (warp.StMatrix8x8x16bOp, {"unpack_bits": 6}),
    ],
)
def test_matrix_copies_that_do_not_exist(op: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(CopyInstructionError, match=f"{op.__name__} has no such instruction"):
        op(**wrong)


def test_transposition_keeps_elements_whole() -> None:
    with pytest.raises(CopyInstructionError, match="tear elements of 32 bits apart"):
        cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), tt.Float32)


def test_a_store_that_would_tear_elements_says_how_many_a_thread_holds() -> None:
    """Programs lay out the copy of sums by it, and store them one by one."""
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(True, 4), tt.Float32)
    assert (atom.values_read, atom.values_written) == (4, 4)

    @tt.kernel
    def kernel() -> None:
        registers = cute.make_rmem_tensor(4, tt.Float32)
        shared = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 4), cute.make_layout(4))
        cute.copy(atom, registers, shared)

    @tt.jit
    def run() -> None:
        kernel().launch(grid=1, block=32)

    with pytest.raises(CopyInstructionError, match="tear elements of 32 bits apart"):
        run()


@pytest.mark.parametrize(
    ("mode", "bits", "there_are"),
    [
        (LoadCacheMode.ALWAYS, 16, "32 or 64 or 128"),
        (LoadCacheMode.ALWAYS, 256, "32 or 64 or 128"),
        (LoadCacheMode.ALWAYS, 0, "32 or 64 or 128"),
        (LoadCacheMode.GLOBAL, 64, "128"),
    ],
)
def test_sizes_of_asynchronous_copies(mode: LoadCacheMode, bits: int, there_are: str) -> None:
    with pytest.raises(CopyInstructionError, match=f"= expected: {there_are}"):
        cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=mode), tt.Float16, num_bits_per_copy=bits)


def test_cache_modes_of_asynchronous_copies() -> None:
    with pytest.raises(CopyInstructionError, match="no such cache mode"):
        cpasync.CopyG2SOp(LoadCacheMode.STREAMING)

"""The table of instructions against the code that emits operations, and against the PTX that comes out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.targets.nvptx.test_refusals import compiled
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.targets.nvptx.description.instructions import INSTRUCTIONS, Emission

PACKAGE = Path(__file__).resolve().parents[5] / "src" / "triptych"
EMITTING = (
    "cute/**/*.py",
    "frontends/ptx/*.py",
    "metastage/**/*.py",
    "ir/modules.py",
)
NAME = re.compile(r'"((?:simt|tile|gpu|llvm)\.[a-z][\w.]*)"')
NO_INSTRUCTIONS = {
    "gpu.container_module",  # an attribute
    "gpu.launch_func",  # the host's
    "gpu.module",  # the file
    *("llvm.insertvalue", "llvm.mlir.undef"),  # the host's: events and stream of a launch
    "simt.divisor",  # becomes a check where its quotient is used, before any instruction is chosen
    "tile.tensor_map",  # the host's
    *("simt.is_multicast", "simt.multicast_ranks", "simt.multicast_stride"),  # of `multimem`, where nobody reads PTX
}

MASK = "%m = arith.constant -1 : i32 "
NUMBERED = "%i = arith.constant 1 : i32 %n = arith.constant 64 : i32 "
BODIES = {
    "gpu.barrier": "gpu.barrier",
    "simt.sync_warp": MASK + '"simt.sync_warp"(%m) : (i32) -> ()',
    "simt.barrier": NUMBERED + '"simt.barrier"(%i, %n) : (i32, i32) -> ()',
    "simt.barrier_arrive": NUMBERED + '"simt.barrier_arrive"(%i, %n) : (i32, i32) -> ()',
    "simt.match": MASK + '%r = "simt.match"(%m, %m) : (i32, i32) -> i32 USE',
    "simt.reduce": MASK + '%r = "simt.reduce"(%m, %m) {kind = "add"} : (i32, i32) -> i32 USE',
    "simt.shuffle": MASK + '%v = "simt.clock"() : () -> i32 '
    '%r = "simt.shuffle"(%m, %v, %m, %m) {kind = "bfly"} : (i32, i32, i32, i32) -> i32 USE',
    "simt.vote": MASK + '%t = arith.constant true %r = "simt.vote"(%m, %t) {kind = "ballot"} : (i32, i1) -> i32 USE',
    "simt.prefetch": '"simt.prefetch"(%p) : (!llvm.ptr<1>) -> ()',
    "simt.sleep": '%m = arith.constant 100 : i32 "simt.sleep"(%m) : (i32) -> ()',
    "simt.clock": '%r = "simt.clock"() : () -> i32 USE',
    "llvm.fence": 'llvm.fence syncscope("device") acq_rel',
}
STORE = "llvm.store %r, %p : i32, !llvm.ptr<1>"


def emitted() -> set[str]:
    """Every name of an operation in the code that traces kernels, and every operation of our dialects."""
    files = [file for pattern in EMITTING for file in PACKAGE.glob(pattern)]
    named = {name for file in files for name in NAME.findall(file.read_text(encoding="utf-8"))}
    return named | {operation for dialect in KERNEL_DIALECTS for operation in dialect.operations}


def test_every_operation_that_is_emitted_has_a_row() -> None:
    assert emitted() - NO_INSTRUCTIONS == {row.operation for row in INSTRUCTIONS}


def test_one_row_is_about_each_form() -> None:
    general = [row.operation for row in INSTRUCTIONS if row.when is None]
    assert len(general) == len(set(general))
    assert {row.operation for row in INSTRUCTIONS} == set(general)


def test_forms_need_newer_gpus_than_the_operation() -> None:
    general = {row.operation: row for row in INSTRUCTIONS if row.when is None}
    for row in INSTRUCTIONS:
        if row.when is not None:
            assert row.since > general[row.operation].since


@needs_assembler
@pytest.mark.parametrize("operation", BODIES)
def test_ptx_has_the_instruction_of_the_table(operation: str) -> None:
    row = next(row for row in INSTRUCTIONS if row.operation == operation)
    ptx = compiled(BODIES[operation].replace("USE", STORE)).views["ptx"]()
    body = ptx[ptx.index(".entry") :]
    assert re.search(rf"\s{re.escape(row.ptx)}\b", body), body
    assert ("begin inline asm" in body) == (row.emission is Emission.INLINE_PTX)


HINTS = {
    "llvm.load %p {alignment = 4 : i64, nontemporal}": "ld.global.b32",
    "llvm.load %p invariant {alignment = 4 : i64}": "ld.global.nc.b32",
    "llvm.load volatile %p {alignment = 4 : i64}": "ld.volatile.global.b32",
}
"""What LLVM makes of the liberties of a load; a first line that fails is good news for cache hints."""


@needs_assembler
@pytest.mark.parametrize("load", HINTS)
def test_cache_hints_that_llvm_writes(load: str) -> None:
    body = f"%r = {load} : !llvm.ptr<1> -> i32 %q = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32 "
    ptx = compiled(body + STORE.replace("%p", "%q")).views["ptx"]()
    assert re.search(rf"\s{re.escape(HINTS[load])}\s", ptx), ptx

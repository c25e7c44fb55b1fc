"""`lower-mbarrier-and-tma`: the PTX of each operation of asynchronous kernels, which every GPU assembles that has it.

These lines are also what the PTX interpreter of the tests must read.
"""

from __future__ import annotations

import re

import pytest

from tests.unit.targets.nvptx.asynchronous import compiled
from tests.unit.targets.nvptx.tools import needs_assembler, needs_disassembler
from triptych.targets.nvptx.passes.lower_mbarrier_and_tma import RULES, TMA_RULES

pytestmark = needs_assembler

S, C = "!llvm.ptr<3>", "!llvm.ptr<7>"
BOX = "box = array<i64: 8, 8>, bytes = 2 : i64, swizzle = 0 : i64"
LOADED = "shared::cluster.global.mbarrier::complete_tx::bytes"
UPDATES = {
    "arrive": ("mbarrier.arrive.shared.b64 R, [s], R;", "mbarrier.arrive.shared::cluster.b64 _, [R], R;"),
    "expect": (
        "mbarrier.expect_tx.relaxed.cta.shared.b64 [s], R;",
        "mbarrier.expect_tx.relaxed.cta.shared::cluster.b64 [R], R;",
    ),
    "arrive_expect": (
        "mbarrier.arrive.expect_tx.shared.b64 R, [s], R;",
        "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [R], R;",
    ),
    "complete": (
        "mbarrier.complete_tx.relaxed.cta.shared.b64 [s], R;",
        "mbarrier.complete_tx.relaxed.cta.shared::cluster.b64 [R], R;",
    ),
}
FORMS: dict[str, list[tuple[str, str]]] = {
    "simt.mbarrier_init": [(f'"simt.mbarrier_init"(%s, %n) : ({S}, i32) -> ()', "mbarrier.init.shared.b64 [s], R;")],
    **{
        f"simt.mbarrier_{name}": [
            (f'"simt.mbarrier_{name}"(%s, %n) : ({S}, i32) -> ()', own),
            (f'"simt.mbarrier_{name}"(%s, %n, %n) : ({S}, i32, i32) -> ()', f"mapa.shared::cluster.u32 R, R, R; {of}"),
        ]
        for name, (own, of) in UPDATES.items()
    },
    "simt.mbarrier_wait": [
        (
            f'"simt.mbarrier_wait"(%s, %n) : ({S}, i32) -> ()',
            "L: mbarrier.try_wait.parity.shared.b64 R, [s], R; not.pred R, R; @R bra L;",
        )
    ],
    "simt.mbarrier_test": [
        (
            f'%t = "simt.mbarrier_test"(%s, %n) : ({S}, i32) -> i1\n'
            " scf.if %t { llvm.store %n, %p : i32, !llvm.ptr<1> }",
            "mbarrier.try_wait.parity.shared.b64 R, [s], R;",
        )
    ],
    "simt.mbarrier_fence": [('"simt.mbarrier_fence"() : () -> ()', "fence.mbarrier_init.release.cluster;")],
    "simt.async_arrive": [(f'"simt.async_arrive"(%s) : ({S}) -> ()', "cp.async.mbarrier.arrive.noinc.shared.b64 [s];")],
    "simt.async_fence": [
        (f'"simt.async_fence"() {{space = "{space}"}} : () -> ()', f"fence.proxy.async{written};")
        for space, written in (("shared", ".shared::cta"), ("global", ".global"), ("all", ""))
    ],
    "tile.tma_load": [
        (
            f'"tile.tma_load"(%map, %s, %s, %n, %n, %one) {{{BOX}, multicast = {multicast}}} '
            f": (!llvm.ptr, {S}, {S}, i32, i32, i32) -> ()",
            f"cp.async.bulk.tensor.2d.{LOADED}{written};",
        )
        for multicast, written in (
            ("false", " [R], [R, {R, R}], [R]"),
            ("true", ".multicast::cluster [R], [R, {R, R}], [R], R"),
            ("false, triptych.cache_policy = 77 : i64", ".L2::cache_hint [R], [R, {R, R}], [R], R"),
            (
                "true, triptych.cache_policy = 77 : i64",
                ".multicast::cluster.L2::cache_hint [R], [R, {R, R}], [R], R, R",
            ),
        )
    ],
    "tile.tma_store": [
        (
            f'"tile.tma_store"(%map, %s, %n, %n, %one) {{{BOX}, kind = "{kind}"}} '
            f": (!llvm.ptr, {S}, i32, i32, i32) -> ()",
            f"{written}.bulk_group [R, {{R, R, R}}], [R];",
        )
        for kind, written in (
            ("store", "cp.async.bulk.tensor.3d.global.shared::cta"),
            ("add", "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add"),
            ("xor", "cp.reduce.async.bulk.tensor.3d.global.shared::cta.xor"),
        )
    ],
    "tile.tma_prefetch": [
        (
            '"tile.tma_prefetch"(%map, %n) {box = array<i64: 8>, bytes = 2 : i64} : (!llvm.ptr, i32) -> ()',
            "cp.async.bulk.prefetch.tensor.1d.L2.global [R, {R}];",
        )
    ],
    "tile.tensormap_prefetch": [('"tile.tensormap_prefetch"(%map) : (!llvm.ptr) -> ()', "prefetch.tensormap [R];")],
    "tile.tensormap_replace": [
        (
            f'"tile.tensormap_replace"({address}, %p, %l, %l, %l) {{type = "f16"}} '
            f": ({kind}, !llvm.ptr<1>, i64, i64, i64) -> ()",
            f"tensormap.replace.tile.{field}.{space}.b1024.{operands};",
        )
        for address, kind, space in (("%s", S, "shared::cta"), ("%p", "!llvm.ptr<1>", "global"))
        for field, operands in (
            ("global_address", "b64 [R], R"),
            ("global_dim", "b32 [R], 0, R"),
            ("global_dim", "b32 [R], 1, R"),
            ("global_stride", "b64 [R], 0, R"),
        )
    ],
    "tile.tensormap_release": [
        ('"tile.tensormap_release"() : () -> ()', "fence.proxy.tensormap::generic.release.gpu;")
    ],
    "tile.tensormap_acquire": [
        ('"tile.tensormap_acquire"(%p) : (!llvm.ptr<1>) -> ()', "fence.proxy.tensormap::generic.acquire.gpu [R], 128;")
    ],
    "tile.tensormap_cp_fenceproxy": [
        (
            f'"tile.tensormap_cp_fenceproxy"(%p, %s) : (!llvm.ptr<1>, {S}) -> ()',
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [R], [R], 128;",
        )
    ],
    "tile.clc_try_cancel": [
        (
            f'"tile.clc_try_cancel"(%s, %s) : ({S}, {S}) -> ()',
            "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128"
            " [s], [s];",
        )
    ],
    "tile.clc_query": [
        (
            f'%g, %x, %y, %z = "tile.clc_query"(%s) : ({S}) -> (i1, i32, i32, i32)\n llvm.store %x, %s : i32, {S}',
            "@R clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 R, R;",
        )
    ],
    "simt.bulk_commit": [('"simt.bulk_commit"() : () -> ()', "cp.async.bulk.commit_group;")],
    "simt.bulk_wait": [
        (f'"simt.bulk_wait"() {{groups = 1 : i64, kind = "{kind}"}} : () -> ()', f"cp.async.bulk.wait_group{of} 1;")
        for kind, of in (("all", ""), ("read", ".read"))
    ],
    "simt.cluster_arrive": [
        (f'"simt.cluster_arrive"() {{order = "{order}"}} : () -> ()', f"barrier.cluster.arrive{written};")
        for order, written in (("release", ""), ("relaxed", ".relaxed"))
    ],
    "simt.cluster_wait": [('"simt.cluster_wait"() : () -> ()', "barrier.cluster.wait;")],
    "simt.cluster_address": [
        (
            f'%a = "simt.cluster_address"(%s, %n) : ({S}, i32) -> {C}\n llvm.store %n, %a : i32, {C}',
            "mapa.shared::cluster.u32 R, R, R; st.shared::cluster.b32 [R], R;",
        )
    ],
    "simt.store_async": [
        (
            f'%a = "simt.cluster_address"(%s, %n) : ({S}, i32) -> {C}\n'
            f'%v = arith.bitcast %n : i32 to {kind}\n "simt.store_async"(%a, %v, %a) : ({C}, {kind}, {C}) -> ()',
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [R], R, [R];",
        )
        for kind in ("i32", "f32")
    ],
    "simt.set_registers": [
        (
            f'"simt.set_registers"() {{kind = "{kind}", count = 40 : i64}} : () -> ()',
            f"setmaxnreg.{written}.sync.aligned.u32 40;",
        )
        for kind, written in (("increase", "inc"), ("decrease", "dec"))
    ],
}


def test_every_rule_has_its_forms() -> None:
    assert set(FORMS) == set(RULES)
    assert {name for name in FORMS if name.startswith(("tile.tma_", "tile.tensormap_"))} == set(TMA_RULES)


def plain(ptx: str) -> str:
    """The body with one blank between words, `R` for registers and `L` for labels."""
    text = re.sub(r"//[^\n]*", " ", ptx[ptx.index(".entry") :])
    text = re.sub(r"%\w+", "R", text)
    return " ".join(re.sub(r"\$L__BB\w+", "L", text).split())


@pytest.mark.parametrize("operation", FORMS)
def test_forms(operation: str) -> None:
    forms = FORMS[operation]
    body = "\n".join(f"scf.execute_region {{ {line}\n scf.yield }}" for line, _ in forms)
    newer = ["sm_100a"] if operation.startswith("tile.clc_") else []
    found = plain(compiled(body, *newer).views["ptx"]())
    for _, written in forms:
        assert written in found, found


def test_loads_into_the_block_keep_registers_that_warpgroups_pass_on_sm_120() -> None:
    """A load that may go to another block is a call there, for which the assembler ignores `setmaxnreg`."""
    one, many, *_ = [line for line, _ in FORMS["tile.tma_load"]]
    registers = [line for line, _ in FORMS["simt.set_registers"]]
    made = compiled("\n".join([one, *registers]), "sm_120a")
    assert f"cp.async.bulk.tensor.2d.{LOADED.replace('cluster', 'cta')} [R]" in plain(made.views["ptx"]())
    assert f"cp.async.bulk.tensor.2d.{LOADED}.multicast" in plain(compiled(many, "sm_120a").views["ptx"]())


@pytest.mark.parametrize("architecture", ["sm_100a", "sm_120a"])
def test_newer_gpus_have_them_too(architecture: str) -> None:
    """Registers are changed in a kernel of its own: what is a call on one of them would have them stay."""
    alone = FORMS["simt.set_registers"]
    together = [line for forms in FORMS.values() if forms is not alone for line, _ in forms]
    for lines in (together, [line for line, _ in alone]):
        body = "\n".join(f"scf.execute_region {{ {line}\n scf.yield }}" for line in lines)
        assert compiled(body, architecture).artifact.startswith(b"\x7fELF")


@needs_disassembler
def test_arrivals_at_other_blocks_order_no_memory_of_the_gpu() -> None:
    """With the scope of the cluster each would wait for all writes of the thread to the whole memory."""
    body = "\n".join(line for name in UPDATES for line, _ in FORMS[f"simt.mbarrier_{name}"])
    assert "MEMBAR" not in compiled(body).views["sass"]()

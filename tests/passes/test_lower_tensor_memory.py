"""`lower-tensor-memory` (`lower_tensor_memory`): operations are PTX instructions, and one lane issues products."""

from __future__ import annotations

import re

import pytest

from tests.unit.targets.nvptx.asynchronous import compiled
from tests.unit.targets.nvptx.tools import needs_assembler

pytestmark = needs_assembler
OPERAND = "array<i64: 0, 3, 16, 1024>"
PRODUCT = f"""
%a = llvm.getelementptr %s[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%flag = arith.cmpi ne, %n, %one : i32
"tile.umma"(%n, %a, %a, %flag) {{instruction = "m128n64k16.f32.f16.f16.cta1", tiles = array<i64: 1, 1, 4>,
  d = array<i64: 0>, a = array<i64: 0, 32, 64, 96>, b = array<i64: 0, 32, 64, 96>,
  a_operand = {OPERAND}, b_operand = {OPERAND}}} : (i32, !llvm.ptr<3>, !llvm.ptr<3>, i1) -> ()
"""


def instructions(body: str, architecture: str = "sm_100a") -> list[str]:
    """What a kernel has of tensor memory, without its operands."""
    return re.findall(r"tcgen05\.[\w.:]+", compiled(body, architecture).views["ptx"]())


def test_a_product_is_an_instruction_for_each_k() -> None:
    name = "tcgen05.mma.cta_group::1.kind::f16.collector::a::discard"
    assert instructions(PRODUCT) == [name] * 4


def test_a_in_tensor_memory_is_an_address() -> None:
    """Eight columns for each k, and only B has a descriptor."""
    in_columns = PRODUCT.replace("(%n, %a, %a,", "(%n, %n, %a,").replace("(i32, !llvm.ptr<3>,", "(i32, i32,")
    in_columns = in_columns.replace("a = array<i64: 0, 32, 64, 96>,", "a = array<i64: 0, 8, 16, 24>,", 1)
    in_columns = in_columns.replace(f"a_operand = {OPERAND}", "a_operand = array<i64>")
    text = compiled(in_columns, "sm_100a").views["ptx"]()
    found = re.findall(r"tcgen05\.mma\S+ +\[%r\d+\+?\d*\], +\[(%r\d+)\+?(\d*)\], +(%rd\d+),", text)
    assert len(found) == len({right for _, _, right in found}) == 4, text


def test_one_lane_issues_products_and_commits() -> None:
    commit = '"tile.umma_commit"(%s, %one) {ctas = 1 : i64, multicast = false} : (!llvm.ptr<3>, i32) -> ()'
    text = compiled(PRODUCT + commit, "sm_100a").views["ptx"]()
    assert len(re.findall(r"elect\.sync", text)) == 2
    assert instructions(commit) == ["tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"]


def test_only_the_first_product_may_begin_with_zero() -> None:
    text = compiled(PRODUCT, "sm_100a").views["ptx"]()
    flags = re.findall(r"tcgen05\.mma.*, (%p\d+);", text)
    assert len(set(flags)) == 2
    assert len(set(flags[1:])) == 1


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (
            '"tile.tmem_alloc"(%s, %n) {ctas = 1 : i64} : (!llvm.ptr<3>, i32) -> ()',
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
        ),
        (
            '"tile.tmem_dealloc"(%n, %one) {ctas = 2 : i64} : (i32, i32) -> ()',
            "tcgen05.dealloc.cta_group::2.sync.aligned.b32",
        ),
        (
            '"tile.tmem_permit"() {ctas = 1 : i64} : () -> ()',
            "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
        ),
        ('"tile.tmem_wait"() {kind = "load"} : () -> ()', "tcgen05.wait::ld.sync.aligned"),
        ('"tile.tmem_wait"() {kind = "store"} : () -> ()', "tcgen05.wait::st.sync.aligned"),
        ('"tile.tmem_fence"() {kind = "after"} : () -> ()', "tcgen05.fence::after_thread_sync"),
        ('"tile.tmem_fence"() {kind = "before"} : () -> ()', "tcgen05.fence::before_thread_sync"),
        (
            '"tile.umma_commit"(%s, %one) {ctas = 2 : i64, multicast = true} : (!llvm.ptr<3>, i32) -> ()',
            "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
        ),
    ],
)
def test_operations_are_instructions(body: str, found: str) -> None:
    assert instructions(body) == [found]


SHAPES = [("32x32b", 1, 1), ("32x32b", 4, 4), ("16x64b", 1, 1), ("16x128b", 1, 2), ("16x256b", 2, 8)]


@pytest.mark.parametrize(("shape", "repeat", "count"), SHAPES)
def test_loads(shape: str, repeat: int, count: int) -> None:
    results, types = (", ".join(each) for each in ([f"%r{i}" for i in range(count)], ["i32"] * count))
    stores = "\n".join(f"llvm.store %r{i}, %p : i32, !llvm.ptr<1>" for i in range(count))
    body = (
        f'{results} = "tile.tmem_load"(%n) {{shape = "{shape}", repeat = {repeat} : i64, pack = false}} '
        f": (i32) -> ({types})\n{stores}"
    )
    assert instructions(body) == [f"tcgen05.ld.sync.aligned.{shape}.x{repeat}.b32"]


@pytest.mark.parametrize("kind", ["max", "min"])
def test_loads_that_reduce(kind: str) -> None:
    body = f"""
    %r0, %r1, %most = "tile.tmem_load_reduce"(%n) {{shape = "32x32b", repeat = 2 : i64, pack = false, kind = "{kind}"}}
        : (i32) -> (i32, i32, i32)
    llvm.store %most, %p : i32, !llvm.ptr<1>
    """
    assert instructions(body, "sm_103a") == [f"tcgen05.ld.red.sync.aligned.32x32b.x2.{kind}.f32"]


@pytest.mark.parametrize("unpacks", [False, True])
@pytest.mark.parametrize(("shape", "repeat", "count"), SHAPES)
def test_stores(shape: str, repeat: int, count: int, unpacks: bool) -> None:
    operands, types = (", ".join(each) for each in (["%one"] * count, ["i32"] * count))
    body = (
        f'"tile.tmem_store"(%n, {operands}) {{shape = "{shape}", repeat = {repeat} : i64, '
        f"pack = {str(unpacks).lower()}}} : (i32, {types}) -> ()"
    )
    form = ".unpack::16b" if unpacks else ""
    assert instructions(body) == [f"tcgen05.st.sync.aligned.{shape}.x{repeat}{form}.b32"]


def test_launch_control() -> None:
    body = """
    "tile.clc_try_cancel"(%s, %s) : (!llvm.ptr<3>, !llvm.ptr<3>) -> ()
    %given, %x, %y, %z = "tile.clc_query"(%s) : (!llvm.ptr<3>) -> (i1, i32, i32, i32)
    %chosen = arith.select %given, %x, %y : i32
    llvm.store %chosen, %p : i32, !llvm.ptr<1>
    """
    text = compiled(body, "sm_100a").views["ptx"]()
    assert re.findall(r"clusterlaunchcontrol\.[\w.:]+", text) == [
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128",
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128",
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128",
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128",
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128",
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128",
    ]


@pytest.mark.parametrize(
    ("instruction", "found"),
    [
        ("m128n64k32.f32.e4m3.e4m3.cta1.ue8m0x32", "kind::mxf8f6f4.block_scale"),
        ("m128n64k64.f32.e2m1.e2m1.cta1.ue8m0x32", "kind::mxf4.block_scale"),
        ("m128n64k64.f32.e2m1.e2m1.cta1.ue4m3x16", "kind::mxf4nvf4.block_scale.block16"),
        ("m256n64k64.f32.e2m1.e2m1.cta2.ue8m0x16", "kind::mxf4nvf4.block_scale.block16"),
    ],
)
def test_products_with_block_scales(instruction: str, found: str) -> None:
    body = f"""
    %flag = arith.cmpi ne, %n, %one : i32
    "tile.umma"(%n, %s, %s, %flag, %n, %n) {{instruction = "{instruction}", tiles = array<i64: 1, 1, 2>,
      d = array<i64: 0>, a = array<i64: 0, 32>, b = array<i64: 0, 32>, sfa = array<i64: 0, 1>, sfb = array<i64: 0, 1>,
      a_operand = {OPERAND}, b_operand = {OPERAND}}} : (i32, !llvm.ptr<3>, !llvm.ptr<3>, i1, i32, i32) -> ()
    """
    ctas = instruction.partition(".cta")[2][0]
    assert instructions(body) == [f"tcgen05.mma.cta_group::{ctas}.{found}.collector::a::discard"] * 2


@pytest.mark.parametrize(("scale", "block"), [("ue4m3x16", "block16"), ("ue8m0x32", "block32")])
def test_products_of_k_96_have_a_second_buffer(scale: str, block: str) -> None:
    body = f"""
    %flag = arith.cmpi ne, %n, %one : i32
    "tile.umma"(%n, %s, %s, %flag, %n, %n, %one, %one) {{instruction = "m128n64k96.f32.e2m1.e2m1.cta1.{scale}",
      tiles = array<i64: 1, 1, 1>, d = array<i64: 0>, a = array<i64: 0>, b = array<i64: 0>, sfa = array<i64: 0>,
      sfb = array<i64: 0>, a_operand = {OPERAND}, b_operand = {OPERAND}}}
      : (i32, !llvm.ptr<3>, !llvm.ptr<3>, i1, i32, i32, i32, i32) -> ()
    """
    name = f"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.{block}.collector::a::discard"
    assert instructions(body, "sm_103a") == [name]


def test_copies_of_scales() -> None:
    body = '"tile.tmem_copy"(%n, %s) {ctas = 1 : i64} : (i32, !llvm.ptr<3>) -> ()'
    assert instructions(body) == ["tcgen05.cp.cta_group::1.32x128b.warpx4"]

"""What copies say of caches and of other threads is in the PTX, in the words of the instruction set."""

from __future__ import annotations

import re
from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.nvptx.tools import needs_assembler, needs_disassembler
from triptych import cute
from triptych.cute.nvgpu import (
    CacheEvictionPriority,
    CopyG2ROp,
    CopyR2GOp,
    CopyUniversalOp,
    LoadCacheMode,
    MemoryOrder,
    MemoryScope,
)
from triptych.cute.runtime import make_fake_tensor
from triptych.ir.errors import LoweringError
from triptych.metastage.trace.errors import OperandTypeError
from triptych.objectstage.device_errors import ArchitectureError

pytestmark = needs_assembler
LAST = CacheEvictionPriority.EVICT_LAST
MODE = LoadCacheMode.ALWAYS


@tt.kernel
def through_registers(
    x: cute.Tensor, y: cute.Tensor, load: tt.Constexpr[Any], store: tt.Constexpr[Any], bits: tt.Constexpr[int]
) -> None:
    """Each thread moves so many bits."""
    thread, _, _ = cute.arch.thread_idx()
    values = bits // x.element_type.width
    source, target = (cute.zipped_divide(tensor, (values,))[None, thread] for tensor in (x, y))
    registers = cute.make_rmem_tensor((values,), x.element_type)
    cute.copy(load[0], source, registers, l1c_evict_priority=load[1])
    cute.copy(store[0], registers, target, l1c_evict_priority=store[1])


@tt.jit
def launched(x: cute.Tensor, y: cute.Tensor, load: tt.Constexpr[Any], store: tt.Constexpr[Any]) -> None:
    through_registers(x, y, load, store, load[0].num_bits_per_copy).launch(grid=1, block=32)


def atoms(dtype: Any = tt.Float32, bits: int = 128, mode: Any = MODE, **facts: Any) -> tuple[Any, Any]:
    """A load and a store."""
    orders = facts.pop("memory_order", (MemoryOrder.WEAK, MemoryOrder.WEAK))
    made = zip((CopyG2ROp(mode), CopyR2GOp()), orders, strict=True)
    load, store = (
        cute.make_copy_atom(op, dtype, num_bits_per_copy=bits, memory_order=order, **facts) for op, order in made
    )
    return load, store


def compiled(load: Any, store: Any, priority: Any = None, target: str = "nvptx:sm_90") -> Any:
    dtype = load.value_type
    like = make_fake_tensor(dtype, (cute.sym_int(divisibility=16),), (1,), assumed_align=16)
    return tt.compile(launched, like, like, (load, priority), (store, priority), target=target)


def accesses(ptx: str) -> list[str]:
    """The instructions that access global memory, up to their operands."""
    return re.findall(r"\s((?:fence\S+; )?(?:ld|st)\.\S*global\S*)", ptx)


@pytest.mark.parametrize("priority", CacheEvictionPriority)
def test_priorities(priority: CacheEvictionPriority) -> None:
    hint = "" if priority is CacheEvictionPriority.EVICT_NORMAL else f".L1::{priority.value}"
    assert accesses(compiled(*atoms(), priority).__ptx__) == [f"ld.global{hint}.v4.b32", f"st.global{hint}.v4.b32"]


@pytest.mark.parametrize(
    ("mode", "word"), list(zip(LoadCacheMode, ("", ".cg", ".cs", ".lu", ".cv"), strict=True)), ids=str
)
def test_caches_of_loads(mode: LoadCacheMode, word: str) -> None:
    assert accesses(compiled(*atoms(mode=mode)).__ptx__) == [f"ld.global{word}.v4.b32", "st.global.v4.b32"]


@pytest.mark.parametrize(
    ("dtype", "bits", "shape"),
    [
        (tt.Int8, 8, "b8"),
        (tt.Int8, 16, "b16"),
        (tt.Uint8, 32, "b32"),
        (tt.Float8E4M3FN, 64, "v2.b32"),
        (tt.Int8, 128, "v4.b32"),
        (tt.Float16, 16, "b16"),
        (tt.BFloat16, 32, "b32"),
        (tt.Float16, 128, "v4.b32"),
        (tt.Float32, 32, "b32"),
        (tt.Int32, 64, "v2.b32"),
        (tt.Float64, 64, "b64"),
        (tt.Int64, 128, "v2.b64"),
    ],
)
def test_widths(dtype: Any, bits: int, shape: str) -> None:
    made = compiled(*atoms(dtype, bits), LAST, target="nvptx:sm_80")
    assert accesses(made.__ptx__) == [f"ld.global.L1::evict_last.{shape}", f"st.global.L1::evict_last.{shape}"]


ORDERS = {
    (MemoryOrder.RELAXED, MemoryOrder.RELAXED): ("ld.relaxed.gpu.global", "st.relaxed.gpu.global"),
    (MemoryOrder.ACQUIRE, MemoryOrder.RELEASE): ("ld.acquire.gpu.global", "st.release.gpu.global"),
    (MemoryOrder.ACQ_REL, MemoryOrder.ACQ_REL): ("ld.acquire.gpu.global", "st.release.gpu.global"),
    (MemoryOrder.SC, MemoryOrder.SC): ("fence.sc.gpu; ld.acquire.gpu.global", "fence.sc.gpu; st.relaxed.gpu.global"),
    (MemoryOrder.VOLATILE, MemoryOrder.VOLATILE): ("ld.volatile.global", "st.volatile.global"),
    (MemoryOrder.CONSTANT, MemoryOrder.WEAK): ("ld.global.nc", "st.global"),
}


@tt.kernel
def in_shared_memory(x: cute.Tensor, orders: tt.Constexpr[Any]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.make_tensor(cute.arch.alloc_smem(tt.Int64, 32), cute.make_layout(32))
    registers = cute.make_rmem_tensor((1,), tt.Int64)
    load, store = (cute.make_copy_atom(CopyUniversalOp(), tt.Int64, memory_order=order) for order in orders)
    cute.copy(store, registers, cute.zipped_divide(shared, (1,))[None, thread])
    cute.copy(load, cute.zipped_divide(shared, (1,))[None, thread], registers)
    x[thread] = registers[0]


@pytest.mark.parametrize("orders", [orders for orders in ORDERS if MemoryOrder.WEAK not in orders], ids=str)
def test_orders_of_shared_memory(orders: tuple[MemoryOrder, MemoryOrder]) -> None:
    @tt.jit
    def host(x: cute.Tensor) -> None:
        in_shared_memory(x, orders).launch(grid=1, block=32)

    like = make_fake_tensor(tt.Int64, (32,), (1,), assumed_align=16)
    ptx = tt.compile(host, like, target="nvptx:sm_80").__ptx__
    found = re.findall(r"\s((?:fence\S+; )?(?:ld|st)\.\S*shared\S*)", ptx)
    load, store = (f"{text.replace('gpu', 'cta').replace('global', 'shared')}.b64" for text in ORDERS[orders])
    assert found == [store, load]


def test_ordered_elements_are_whole() -> None:
    """An element of 64 bits in two words could be seen half written."""
    orders = MemoryOrder.RELAXED, MemoryOrder.RELAXED
    made = compiled(*atoms(tt.Float64, 128, memory_order=orders, memory_scope=MemoryScope.GPU))
    assert accesses(made.__ptx__) == ["ld.relaxed.gpu.global.v2.b64", "st.relaxed.gpu.global.v2.b64"]


@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: f"{orders[0].name} {orders[1].name}")
def test_orders(orders: tuple[MemoryOrder, MemoryOrder]) -> None:
    made = compiled(*atoms(memory_order=orders, memory_scope=MemoryScope.GPU), target="nvptx:sm_80")
    assert accesses(made.__ptx__) == [f"{word}.v4.b32" for word in ORDERS[orders]]


def test_an_ordered_access_may_have_a_priority() -> None:
    orders = MemoryOrder.RELAXED, MemoryOrder.RELAXED
    made = compiled(*atoms(memory_order=orders, memory_scope=MemoryScope.SYS, mode=LoadCacheMode.GLOBAL), LAST)
    assert accesses(made.__ptx__)[0] == "ld.relaxed.sys.global.L1::evict_last.v4.b32"


def test_memory_mapped_registers_are_accessed_one_by_one() -> None:
    orders = MemoryOrder.MMIO, MemoryOrder.MMIO
    made = compiled(*atoms(bits=32, memory_order=orders))
    assert accesses(made.__ptx__) == ["ld.mmio.relaxed.sys.global.b32", "st.mmio.relaxed.sys.global.b32"]
    with pytest.raises(LoweringError, match="one word"):
        compiled(*atoms(memory_order=orders))


@pytest.mark.parametrize("orders", [(MemoryOrder.RELEASE, MemoryOrder.WEAK), (MemoryOrder.WEAK, MemoryOrder.ACQUIRE)])
def test_orders_that_an_access_cannot_have(orders: tuple[MemoryOrder, MemoryOrder]) -> None:
    with pytest.raises(OperandTypeError, match="is ordered as") as raised:
        compiled(*atoms(memory_order=orders))
    assert raised.value.span is not None
    assert "cute.copy" in raised.value.span.text()


def test_clusters_are_newer() -> None:
    orders = MemoryOrder.RELAXED, MemoryOrder.WEAK
    made = atoms(memory_order=orders, memory_scope=MemoryScope.CLUSTER)
    assert accesses(compiled(*made).__ptx__)[0] == "ld.relaxed.cluster.global.v4.b32"
    with pytest.raises(ArchitectureError, match="sm_80"):
        compiled(*made, target="nvptx:sm_80")


@needs_disassembler
def test_the_machine_has_the_hint() -> None:
    assert re.search(r"LDG\.E\.EL\.128\b", compiled(*atoms(), LAST).__sass__)


@tt.kernel
def from_memory_to_memory(x: cute.Tensor, y: cute.Tensor, by: tt.Constexpr[str]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    source, target = (cute.zipped_divide(tensor, (4,))[None, thread] for tensor in (x, y))
    if by == "autovec":
        cute.autovec_copy(source, target, l1c_evict_priority=LAST)
    else:
        atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=128)
        wanted = cute.make_rmem_tensor((1,), tt.Boolean)
        wanted[0] = thread < 5
        cute.copy(atom, source, target, pred=wanted, l1c_evict_priority=LAST)


@pytest.mark.parametrize("by", ["autovec", "predicate"])
def test_other_copies(by: str) -> None:
    @tt.jit
    def host(x: cute.Tensor, y: cute.Tensor) -> None:
        from_memory_to_memory(x, y, by).launch(grid=1, block=32)

    like = make_fake_tensor(tt.Float32, (cute.sym_int(divisibility=4),), (1,), assumed_align=16)
    ptx = tt.compile(host, like, like, target="nvptx:sm_80").__ptx__
    assert accesses(ptx) == ["ld.global.L1::evict_last.v4.b32", "st.global.L1::evict_last.v4.b32"]


@tt.kernel
def doubled(x: cute.Tensor, y: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    source, target = (cute.zipped_divide(tensor, (8,))[None, thread] for tensor in (x, y))
    target.store(source.load() * 2.0)


@pytest.mark.parametrize(("alignment", "number"), [(32, 1), (16, 2)])
def test_newer_gpus_move_32_bytes_at_once(alignment: int, number: int) -> None:
    @tt.jit
    def host(x: cute.Tensor, y: cute.Tensor) -> None:
        doubled(x, y).launch(grid=1, block=32)

    like = make_fake_tensor(tt.Float32, (cute.sym_int(divisibility=8),), (1,), assumed_align=alignment)
    ptx = tt.compile(host, like, like, target="nvptx:sm_100a").__ptx__
    assert len(accesses(ptx)) == 2 * number
    assert len(accesses(tt.compile(host, like, like, target="nvptx:sm_90a").__ptx__)) == 4


# 32 bytes at once ---------------------------------------------------------------------------------------------------
NEWER = ["sm_100a", "sm_103a", "sm_120a"]


@tt.jit
def launched_pieces(x: cute.Tensor, y: cute.Tensor, load: tt.Constexpr[Any], store: tt.Constexpr[Any]) -> None:
    """64 bytes of each thread."""
    through_registers(x, y, load, store, 64 * 8).launch(grid=1, block=32)


def wide(made: tuple[Any, Any], priority: Any = None, architecture: str = "sm_100a", align: int = 32) -> Any:
    load, store = made
    like = make_fake_tensor(load.value_type, (cute.sym_int(divisibility=64),), (1,), assumed_align=align)
    arguments = like, like, (load, priority), (store, priority)
    return tt.compile(launched_pieces, *arguments, target=f"nvptx:{architecture}")


@pytest.mark.parametrize("architecture", NEWER)
@pytest.mark.parametrize("dtype", [tt.Float32, tt.Float16, tt.Int8, tt.Float64])
def test_newer_gpus_move_32_bytes_with_hints(architecture: str, dtype: Any) -> None:
    ptx = wide(atoms(dtype), LAST, architecture).__ptx__
    assert accesses(ptx) == ["ld.global.L1::evict_last.v8.b32"] * 2 + ["st.global.L1::evict_last.v8.b32"] * 2


def test_every_word_goes_where_it_came_from() -> None:
    words = re.findall(r"v8\.b32 (?:\[\S+\], )?(\{[^}]*\})", wide(atoms(tt.Float32), LAST).__ptx__)
    assert len(words) == 4
    assert words[:2] == words[2:]


@pytest.mark.parametrize(
    ("mode", "word"), list(zip(LoadCacheMode, ("", ".cg", ".cs", ".lu", ".cv"), strict=True))[1:], ids=str
)
def test_caches_of_loads_of_32_bytes(mode: LoadCacheMode, word: str) -> None:
    ptx = wide(atoms(mode=mode)).__ptx__
    assert [access for access in accesses(ptx) if "ld" in access] == [f"ld.global{word}.v8.b32"] * 2


def test_what_never_changes_is_read_32_bytes_at_once() -> None:
    ptx = wide(atoms(memory_order=(MemoryOrder.CONSTANT, MemoryOrder.WEAK))).__ptx__
    assert accesses(ptx)[:2] == ["ld.global.nc.v8.b32"] * 2


@pytest.mark.parametrize(("architecture", "align"), [("sm_90a", 32), ("sm_100a", 16)])
def test_older_gpus_and_other_addresses_move_16_bytes(architecture: str, align: int) -> None:
    ptx = wide(atoms(), LAST, architecture, align).__ptx__
    assert accesses(ptx) == ["ld.global.L1::evict_last.v4.b32"] * 4 + ["st.global.L1::evict_last.v4.b32"] * 4


@pytest.mark.parametrize("order", [MemoryOrder.RELAXED, MemoryOrder.VOLATILE])
def test_ordered_accesses_stay_as_they_are_written(order: MemoryOrder) -> None:
    ptx = wide(atoms(memory_order=(order, order), memory_scope=MemoryScope.GPU)).__ptx__
    assert [access[-6:] for access in accesses(ptx)] == ["v4.b32"] * 8


@needs_disassembler
def test_the_machine_moves_32_bytes_with_the_hint() -> None:
    sass = wide(atoms(), LAST).__sass__
    assert len(re.findall(r"LDG\.E\.EL\.\S*256\b", sass)) == len(re.findall(r"STG\.E\.EL\.\S*256\b", sass)) == 2


@tt.kernel
def crossing(x: cute.Tensor) -> None:
    """The second half is read after the first thread may have written it."""
    thread, _, _ = cute.arch.thread_idx()
    mine = cute.zipped_divide(x, (8,))[None, thread]
    first, second = (cute.local_tile(mine, (4,), (i,)) for i in range(2))
    held = [cute.make_rmem_tensor((4,), tt.Float32) for _ in range(2)]
    cute.autovec_copy(first, held[0], l1c_evict_priority=LAST)
    cute.arch.sync_threads()
    cute.autovec_copy(second, held[1], l1c_evict_priority=LAST)
    first.store(held[1].load())
    second.store(held[0].load())


def test_what_a_barrier_parts_stays_apart() -> None:
    @tt.jit
    def host(x: cute.Tensor) -> None:
        crossing(x).launch(grid=1, block=32)

    like = make_fake_tensor(tt.Float32, (cute.sym_int(divisibility=8),), (1,), assumed_align=32)
    ptx = tt.compile(host, like, target="nvptx:sm_100a").__ptx__
    assert accesses(ptx)[:2] == ["ld.global.L1::evict_last.v4.b32"] * 2


@tt.kernel
def ring(x: cute.Tensor, y: cute.Tensor, start: tt.Int32, index: tt.Constexpr[Any]) -> None:
    """The second half may lie at the beginning of the memory."""
    thread, _, _ = cute.arch.thread_idx()
    places = [index((thread + start) * 8), index((thread + start) * 8 + 4)]
    held = [cute.make_rmem_tensor((4,), tt.Float32) for _ in range(2)]
    for i in tt.range_constexpr(2):
        pointer = (x.iterator + places[i]).align(32 >> i)
        cute.autovec_copy(cute.make_tensor(pointer, 4), held[i], l1c_evict_priority=LAST)
    y[thread] = held[0][0] + held[1][3]


@pytest.mark.parametrize(("index", "width"), [(tt.Int32, 8), (tt.Uint32, 4), (tt.Uint16, 4), (tt.Int16, 4)])
def test_only_what_cannot_wrap_around_is_joined(index: Any, width: int) -> None:
    @tt.jit
    def host(x: cute.Tensor, y: cute.Tensor, start: tt.Int32) -> None:
        ring(x, y, start, index).launch(grid=1, block=32)

    like = make_fake_tensor(tt.Float32, (cute.sym_int(divisibility=8),), (1,), assumed_align=32)
    ptx = tt.compile(host, like, like, 0, target="nvptx:sm_100a").__ptx__
    loads = [access for access in accesses(ptx) if "evict_last" in access]
    assert loads == [f"ld.global.L1::evict_last.v{width}.b32"] * (8 // width)

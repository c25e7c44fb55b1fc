"""Faults written by hand: tensor memory, its columns, products and commits, of one CTA."""

from __future__ import annotations

from tests.checkers.pairs import Pair

_PROGRAM = """
import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import OperandMajorMode, tcgen05
from triptych.utils import TmemAllocator, blackwell_helpers
arch = cute.arch
TILE = (128, 32, 16)

@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor, mma: cute.TiledMma, layouts: tt.Constexpr):
    t, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    storage = cute.SmemAllocator()
    p, q = [storage.allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner) for layout in layouts]
    words = storage.allocate_array(tt.Int32, 2)
    one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, 128))
    bars = storage.allocate_array(tt.Int64, 4)
    results = pipeline.PipelineUmmaAsync.create(
        num_stages={stages}, producer_group=one, consumer_group=everyone, barrier_storage=bars
    )
    begun, done = results.make_participants()
    for i in range(t, 128 * 16, 128):
        p[(i % 128, i // 128), 0, 0, 0] = tt.Float16(x[i % 8]) {fill}
    for i in range(t, 32 * 16, 128):
        q[(i % 32, i // 32), 0, 0, 0] = tt.Float16(x[i % 4])
    arch.fence_proxy("async.shared", space="cta") {fence}
    arch.sync_threads()
    a, b = mma.make_fragment_A(p), mma.make_fragment_B(q)
    form = mma.make_fragment_C(mma.partition_shape_C(TILE[:2])).layout
    ld = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), tt.Float32)
    st = cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x32), tt.Float32)
    columns, more = TmemAllocator(words), TmemAllocator(words + 1)
{{body}}

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    major, source = OperandMajorMode.K, tcgen05.OperandSource.SMEM
    op = tcgen05.MmaF16BF16Op(tt.Float16, tt.Float32, TILE, tcgen05.CtaGroup.ONE, source, major, major)
    mma = cute.make_tiled_mma(op)
    layouts = [
        blackwell_helpers.make_smem_layout_a(mma, TILE, tt.Float16, 1),
        blackwell_helpers.make_smem_layout_b(mma, TILE, tt.Float16, 1),
    ]
    k(x, out, mma, layouts).launch(grid={{grid}}, block={{block}})
"""
_TAKEN = """columns.allocate(32) {allocate}
{taken}
columns.wait_for_alloc() {awaited}
place = columns.retrieve_ptr(tt.Float32) {place}
sums = cute.make_tensor(place, form)
load, store = tcgen05.make_tmem_copy(ld, sums), tcgen05.make_tmem_copy(st, sums)
mine = load.get_slice(t) {slice}
source = mine.partition_S(sums)
held = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor(((128, 32), 1, 1))).shape, tt.Float32)
{before}
"""
_ROUNDS = """for i in range({rounds}):
    if warp == 0:
        empty = begun.acquire_and_advance() {acquire}
        cute.gemm(mma, sums, a[None, None, 0, 0], b[None, None, 0, 0], sums) {product}
        empty.commit() {commit}
    full = done.wait_and_advance() {wait}
    cute.copy(load, source, held) {load}
    {waits} {fence}
    full.release()
    {again}
    out[t] = held[0] + held[31]
{behind}
arch.sync_threads() {met}
columns.free(place) {free}
"""
_MARKS = {
    "allocate",
    "taken",
    "awaited",
    "place",
    "slice",
    "before",
    "acquire",
    "product",
    "commit",
    "wait",
    "load",
    "fence",
    "again",
    "behind",
    "met",
    "free",
}


def _sums(
    name: str,
    code: str,
    fill: str = "",
    proxy: str = "",
    says: str = "",
    rounds: int = 3,
    stages: int = 1,
    waits: str = "arch.fence_view_async_tmem_load()",
    **marks: str,
) -> Pair:
    given = {**dict.fromkeys(_MARKS, ""), **marks}
    program = _PROGRAM.format(fill=fill, fence=proxy, stages=stages)
    body = (_TAKEN + _ROUNDS).format(rounds=rounds, waits=waits, **given)
    return Pair(f"tensor memory: {name}", body, code=code, program=program, block=128, says=says)


_ZEROS = """mine_too = store.get_slice(t)
held.fill(0.0)
cute.copy(store, held, mine_too.partition_D(sums)) #<
arch.fence_view_async_tmem_store() {wait}
arch.sync_threads() {met}
mma.set(tcgen05.Field.ACCUMULATE, True)"""

PRODUCTS = [
    _sums(
        "a load before the product is complete",
        "TT0633",
        rounds=1,
        product="#<",
        wait="#~ full = done.wait_and_advance(True)",
        load="#>",
        says="`consumer_wait` of the pipeline whose `producer_commit` is behind the product",
    ),
    _sums(
        "nobody waits for loads before the sums are released",
        "TT0634",
        load="#<",
        fence="#!",
        product="#>",
        says="`cute.arch.fence_view_async_tmem_load()` behind the load and before `consumer_release`",
    ),
    _sums(
        "loads that are used behind the release of the sums",
        "TT0634",
        load="#<",
        waits="out[t] = held[0]",
        fence="#!",
        product="#>",
    ),
    _sums(
        "a product over sums that are still loaded",
        "TT0633",
        rounds=2,
        stages=2,
        load="#<",
        again="arch.sync_threads() #!",
        product="#>",
    ),
    _sums("products that nobody commits", "TT0622", commit="#!", wait="#<"),
    _sums(
        "nobody waits for stores before a product",
        "TT0633",
        before=_ZEROS.format(wait="#!", met=""),
        product="#>",
        says="`cute.arch.fence_view_async_tmem_store()` by that warp",
    ),
    _sums(
        "no barrier between stores and a product",
        "TT0633",
        before=_ZEROS.format(wait="", met="#!"),
        product="#>",
    ),
    _sums(
        "a product adds to what nobody has written",
        "TT0631",
        before="arch.sync_warp() #~ mma.set(tcgen05.Field.ACCUMULATE, True)",
        product="#<>",
        says="`ACCUMULATE` False for the first product",
    ),
    _sums(
        "factors that are not fenced",
        "TT0634",
        fill="#<",
        proxy="#!",
        product="#>",
        says="fence_proxy",
    ),
]
COLUMNS = [
    _sums("an address that is read too early", "TT0653", awaited="#!", load="#<"),
    _sums(
        "columns that were never taken",
        "TT0653",
        place="#~ place = columns.retrieve_ptr(tt.Float32) + 64",
        product="#<",
        says="columns of tensor memory are used that are not taken",
    ),
    _sums(
        "columns beyond those that are taken",
        "TT0653",
        place="#~ place = columns.retrieve_ptr(tt.Float32) + 16",
        product="#<",
    ),
    _sums(
        "columns beyond the last one",
        "TT0653",
        place="#~ place = columns.retrieve_ptr(tt.Float32) + 496",
        product="#<",
    ),
    _sums(
        "columns that were given back",
        "TT0653",
        before="arch.sync_warp() #~ columns.free(place)\narch.sync_threads()",
        product="#<",
    ),
    _sums(
        "given back twice",
        "TT0653",
        behind="arch.sync_threads()\narch.sync_warp() #~ columns.free(place)",
        free="#<",
        says="given back that are not taken",
    ),
    _sums("not all are given back", "TT0653", free="#<~ columns.free(place, 64)", says="that are not taken"),
    _sums("left at the end", "TT0653", allocate="#<", free="#!", says="still taken when the block ends"),
    _sums("given back while others load", "TT0653", load="#<", met="#!"),
    _sums(
        "an allocation that grows",
        "TT0653",
        taken="more.allocate(32) #<~ more.allocate(64)",
        behind="arch.sync_threads()\nmore.free(more.retrieve_ptr(tt.Float32))",
        says="is larger than the one before it",
    ),
    _sums(
        "an allocation after the permit is given up",
        "TT0653",
        taken="arch.sync_warp() #~ columns.relinquish_alloc_permit()\nmore.allocate(32) #<",
        behind="arch.sync_threads()\nmore.free(more.retrieve_ptr(tt.Float32))",
        says="after the block has given up its permit",
    ),
    _sums(
        "more columns than there are",
        "TT0653",
        taken="more.allocate(32) #<",
        before="",
        behind="arch.sync_threads()\nmore.free(more.retrieve_ptr(tt.Float32))",
        allocate="#~ columns.allocate(512)",
        says="no columns left",
    ),
    _sums(
        "lanes of another warp",
        "TT0653",
        slice="#~ mine = load.get_slice((t + 32) % 128)",
        load="#<",
        says="lanes of tensor memory that are not its own",
    ),
    _sums(
        "a part of a warp loads",
        "TT0623",
        load="#<~ if t % 32 < 16: cute.copy(load, source, held)",
    ),
    _sums(
        "operations of one CTA and of a pair",
        "TT0501",
        behind="columns.relinquish_alloc_permit() #<~ arch.relinquish_tmem_alloc_permit(is_two_cta=True)",
        says="one CtaGroup for all products",
    ),
]

_PAIR = """
import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from triptych.utils import TmemAllocator, blackwell_helpers
arch = cute.arch
TILE = (256, 64, 16)

def tiles_of(load, shared, matrix):
    shared, matrix = cute.group_modes(shared, 0, 3), cute.group_modes(matrix, 0, 3)
    return cpasync.tma_partition(load, 0, cute.make_layout(1), shared, matrix)

@tt.kernel
def k(load_x, x, load_w, w, out: cute.Tensor, mma: cute.TiledMma, layouts: tt.Constexpr, blocks: tt.Constexpr):
    t, _, _ = arch.thread_idx()
    warp, rank = (arch.make_warp_uniform(each) for each in (arch.warp_idx(), arch.block_idx_in_cluster()))
    storage = cute.SmemAllocator()
    p, q = [storage.allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner) for layout in layouts]
    words, end = storage.allocate_array(tt.Int32, 1), storage.allocate_array(tt.Int64, 1)
    one, both = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, 256))
    size = sum(cute.size_in_bytes(tt.Float16, cute.select(each, mode=[0, 1, 2])) for each in layouts)
    tiles = pipeline.PipelineTmaUmma.create(
        num_stages=2, producer_group=one, consumer_group=one, cta_layout_vmnk=blocks,
        tx_count=2 * size, {tx}
        barrier_storage=storage.allocate_array(tt.Int64, 4),
    )
    results = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=one, consumer_group=both, cta_layout_vmnk=blocks,
        barrier_storage=storage.allocate_array(tt.Int64, 2),
    )
    columns = TmemAllocator(words, is_two_cta=True, two_cta_tmem_dealloc_mbar_ptr=end) {pair}
    arch.cluster_arrive()
    arch.cluster_wait()
    columns.allocate(64)
    columns.wait_for_alloc()
    half = mma.get_slice(rank)
    to_x, from_x = tiles_of(load_x, p, half.partition_A(cute.local_tile(x, (256, 16), (0, None))))
    to_w, from_w = tiles_of(load_w, q, half.partition_B(cute.local_tile(w, (64, 16), (0, None))))
    a, b = mma.make_fragment_A(p), mma.make_fragment_B(q)
    place = columns.retrieve_ptr(tt.Float32)
    sums = cute.make_tensor(place, mma.make_fragment_C(mma.partition_shape_C(TILE[:2])).layout)
    ld = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), tt.Float32)
    load = tcgen05.make_tmem_copy(ld, sums)
    mine = load.get_slice(t)
    source = mine.partition_S(sums)
    held = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor(((128, 64), 1, 1))).shape, tt.Float32)
    producer, consumer = tiles.make_participants()
    begun, done = results.make_participants()
    if warp == 0:
        for i in range({tiles}):
            empty = producer.acquire_and_advance() {acquire}
            cute.copy(load_x, from_x[None, 0], to_x[None, empty.index], tma_bar_ptr=empty.barrier) {copy}
            cute.copy(load_w, from_w[None, 0], to_w[None, empty.index], tma_bar_ptr=empty.barrier) {second}
    if warp == 1:
        if rank == 0:
            result = begun.acquire_and_advance()
            for i in range({tiles}):
                full = consumer.wait_and_advance() {full}
                cute.gemm(mma, sums, a[None, None, 0, full.index], b[None, None, 0, full.index], sums) {product}
                full.release() {release}
            result.commit() {commit}
    full = done.wait_and_advance() {wait}
    cute.copy(load, source, held) {load}
    arch.fence_view_async_tmem_load()
    full.release()
    out[rank * 128 + t] = tt.Float16(held[0] + held[31])
    arch.sync_threads()
    columns.free(place) {free}
{{body}}

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    major, source = OperandMajorMode.K, tcgen05.OperandSource.SMEM
    op = tcgen05.MmaF16BF16Op(tt.Float16, tt.Float32, TILE, tcgen05.CtaGroup.TWO, source, major, major)
    mma = cute.make_tiled_mma(op)
    layouts = [
        blackwell_helpers.make_smem_layout_a(mma, TILE, tt.Float16, 2),
        blackwell_helpers.make_smem_layout_b(mma, TILE, tt.Float16, 2),
    ]
    blocks = cute.tiled_divide(cute.make_layout((2, 1, 1)), (mma.thr_id.shape,))
    stages = [cute.select(layout, mode=[0, 1, 2]) for layout in layouts]
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.TWO)
    rows = cute.make_tensor(x.iterator, cute.make_layout((256, 16), stride=(16, 1)))
    columns = cute.make_tensor(x.iterator, cute.make_layout((64, 16), stride=(16, 1)))
    load_x = cute.nvgpu.make_tiled_tma_atom_A(load, rows, stages[0], TILE, mma, blocks.shape)
    other = cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, stages[1].outer)
    stages[1] = stages[1] {swizzle}
    load_w = cute.nvgpu.make_tiled_tma_atom_B(load, columns, stages[1], TILE, mma, blocks.shape)
    k(*load_x, *load_w, out, mma, layouts, blocks).launch(grid=(2 * {{grid}},), block={{block}}, cluster=(2, 1, 1))
"""
_COMMIT = "tcgen05.commit(results.sync_object_full.get_barrier(0), cta_group=tcgen05.CtaGroup.TWO, mask"
_OF_PAIR = (
    "tx",
    "pair",
    "acquire",
    "copy",
    "full",
    "product",
    "release",
    "commit",
    "wait",
    "load",
    "free",
    "swizzle",
    "second",
)


def _pair(name: str, code: str, says: str = "", tiles: int = 3, **marks: str) -> Pair:
    program = _PAIR.format(**{**dict.fromkeys(_OF_PAIR, ""), **marks}, tiles=tiles)
    return Pair(f"pairs: {name}", "pass", code=code, program=program, block=128, dtype="float16", says=says)


CTA_PAIRS = [
    _pair(
        "factors that are not there yet",
        "TT0633",
        tiles=1,
        full="#~ full = consumer.wait_and_advance(True)",
        copy="#<",
        product="#>",
    ),
    _pair(
        "factors that are overwritten before they are read",
        "TT0622",
        acquire="#~ empty = producer.acquire_and_advance(True)",
        wait="#<",
    ),
    _pair("a stage that is not released", "TT0622", release="#!", acquire="#<"),
    _pair("a commit that the other CTA is not told of", "TT0622", commit=f"#~ {_COMMIT}=None)", free="#<"),
    _pair("a commit to the barrier of the other CTA", "TT0622", commit=f"#~ {_COMMIT}=2)", wait="#<"),
    _pair("a map of another swizzle than the factors", "TT0946", swizzle="#~ stages[1] = other", second="#<"),
    _pair("bytes of one CTA", "TT0622", tx="#~ tx_count=size,", full="#<", says="more came than were expected"),
    _pair(
        "columns given back before the other CTA is ready",
        "TT0630",
        pair="#~ columns = TmemAllocator(words, is_two_cta=True)",
        load="#<",
        free="#>",
        says="two_cta_tmem_dealloc_mbar_ptr",
    ),
    _pair(
        "a product over sums that the other CTA still loads",
        "TT0634",
        tiles=1,
        wait="#~ full = done.wait_and_advance(rank != 0)",
        load="#<",
        product="#>",
    ),
]
TENSOR_MEMORY = (*PRODUCTS, *COLUMNS, *CTA_PAIRS)

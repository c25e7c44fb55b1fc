"""Faults written by hand: block scales in tensor memory, who brings them there, and when products read them."""

from __future__ import annotations

from tests.checkers.pairs import Pair

_PROGRAM = """
import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import OperandMajorMode, tcgen05
from triptych.utils import TmemAllocator, blackwell_helpers, blockscaled_layout
arch = cute.arch
FACTOR, SCALE, TILE = tt.Float8E4M3FN, tt.Float8E8M0FNU, (128, 64, 128)

def bytes_of(tensor):
    flat = cute.make_layout(cute.cosize(tensor.layout))
    return cute.make_tensor(cute.recast_ptr(tensor.iterator, dtype=tt.Uint8), flat)

def scales_of(mma, place, layout):
    form = blockscaled_layout.make_tmem_layout_sfa(mma, TILE, 32, cute.slice_(layout, (None, None, None, 0)))
    return cute.make_tensor(cute.recast_ptr(place, dtype=SCALE), form)

def copied(shared, scales):
    shared, scales = cute.filter_zeros(shared), cute.filter_zeros(scales)
    atom = cute.make_copy_atom(tcgen05.Cp4x32x128bOp(tcgen05.CtaGroup.ONE), SCALE)
    copy = tcgen05.make_s2t_copy(atom, scales)
    source = tcgen05.get_s2t_smem_desc_tensor(copy, copy.partition_S(shared))
    return copy, source[None, None, None, None, 0], copy.partition_D(scales)

@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor, mma: cute.TiledMma, layouts: tt.Constexpr, forms: tt.Constexpr):
    t, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    storage = cute.SmemAllocator()
    p, q = [storage.allocate_tensor(FACTOR, layout.outer, 1024, layout.inner) for layout in layouts]
    sp, sq = [storage.allocate_tensor(SCALE, layout, 1024) for layout in forms]
    one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, 128))
    results = pipeline.PipelineUmmaAsync.create(
        num_stages=2, producer_group=one, consumer_group=everyone, barrier_storage=storage.allocate_array(tt.Int64, 4)
    )
    begun, done = results.make_participants()
    columns = TmemAllocator(storage.allocate_array(tt.Int32, 1))
    columns.allocate(128)
    columns.wait_for_alloc()
    for tile in [bytes_of(p), bytes_of(q), bytes_of(sp)]:
        for i in range(t, cute.size(tile), 128):
            tile[i] = tt.Uint8(i % 3 + 126)
    a, b = mma.make_fragment_A(p), mma.make_fragment_B(q)
    place = columns.retrieve_ptr(tt.Float32)
    sums = cute.make_tensor(place, mma.make_fragment_C(mma.partition_shape_C(TILE[:2])).layout)
    sfa = scales_of(mma, place + 64, forms[0])
    sfb = scales_of(mma, place + 68, forms[1]) {place}
    ld = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), tt.Float32)
    load = tcgen05.make_tmem_copy(ld, sums)
    mine = load.get_slice(t)
    source = mine.partition_S(sums)
    held = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor(((128, 64), 1, 1))).shape, tt.Float32)
    words = cute.make_tensor(
        cute.recast_ptr(place + 68, dtype=tt.Int32), cute.make_layout(((128, 4), 1, 1), stride=((65536, 1), 0, 0))
    )
    st = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x4), tt.Int32), words)
    to_words = st.get_slice(t).partition_D(words)
    ones = cute.make_rmem_tensor(4, tt.Int32)
    ones.fill(0x7F7F7F7F)
    first, second = copied(sp, sfa), copied(sq, sfb)
{{body}}

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    major = OperandMajorMode.K
    mma = blackwell_helpers.make_blockscaled_trivial_tiled_mma(
        FACTOR, FACTOR, major, major, SCALE, 32, tcgen05.CtaGroup.ONE, TILE[:2]
    )
    layouts = [
        blackwell_helpers.make_smem_layout_a(mma, TILE, FACTOR, 1),
        blackwell_helpers.make_smem_layout_b(mma, TILE, FACTOR, 1),
    ]
    forms = [
        blockscaled_layout.make_smem_layout_sfa(mma, TILE, 32, 1),
        blockscaled_layout.make_smem_layout_sfb(mma, TILE, 32, 1),
    ]
    k(x, out, mma, layouts, forms).launch(grid={{grid}}, block={{block}})
"""
_ROUNDS = """for i in range(3):
    {brought}
    arch.fence_proxy("async.shared", space="cta") {fence}
    arch.sync_threads()
    {other}
    if warp == 0:
        empty = begun.acquire_and_advance()
        cute.copy(*first)
        {copy}
        cute.gemm(mma, sums, [a[None, None, None, 0], sfa], [b[None, None, None, 0], sfb], sums) {product}
        empty.commit() {commit}
    full = done.wait_and_advance() {wait}
    cute.copy(load, source, held)
    arch.fence_view_async_tmem_load()
    full.release()
    out[t] = held[0] + held[63]
    {behind}
arch.sync_threads()
columns.free(place)
"""
_FILL = "cute.make_tensor(bytes_of(sq).iterator + 4 * t, cute.make_layout(4)).fill(127) {}"
_COPY = "cute.copy(*second) {}"
_STORE = "cute.copy(st, ones, to_words) {}\n    arch.fence_view_async_tmem_store() {}"


def _scales(name: str, code: str, says: str = "", **marks: str) -> Pair:
    brought = _FILL.format(marks.pop("fill", ""))
    given = dict.fromkeys(("fence", "product", "commit", "wait"), "")
    given |= {
        "brought": brought,
        "copy": _COPY.format(""),
        "other": "arch.sync_warp()",
        "behind": "arch.sync_threads()",
    }
    place = marks.pop("place", "")
    body = _ROUNDS.format(**given | marks)
    program = _PROGRAM.format(place=place)
    return Pair(f"block scales: {name}", body, code=code, program=program, block=128, says=says)


def _stored(name: str, code: str, says: str = "", by: str = "", stored: str = "", **marks: str) -> Pair:
    brought = _STORE.format(by, stored)
    return _scales(name, code, says, **{"brought": brought, "copy": "arch.sync_warp()", **marks})


BLOCK_SCALES = [
    _scales(
        "scales that are not fenced",
        "TT0634",
        "begins to copy scales to tensor memory that reads",
        fill="#<",
        fence="#!",
        copy=_COPY.format("#>"),
    ),
    _scales(
        "scales that are overwritten before the copy is complete",
        "TT0634",
        "`consumer_release` behind the copy of scales",
        fill="#>",
        copy=_COPY.format("#<"),
        wait="#~ full = done.wait_and_advance(True)",
    ),
    _scales("scales that nobody has copied", "TT0631", copy=_COPY.format("#!"), product="#<>"),
    _scales(
        "scales that another warp copies",
        "TT0633",
        "a copy of scales may not be complete",
        other="arch.sync_warp() #<~ if warp == 1: cute.copy(*second)",
        copy=_COPY.format("#!"),
        product="#>",
    ),
    _scales(
        "scales in columns that are not taken",
        "TT0653",
        place="#~ sfb = scales_of(mma, place + 128, forms[1])",
        copy=_COPY.format("#!"),
        product="#<",
    ),
    _stored(
        "scales in one quarter of the lanes",
        "TT0631",
        "all four quarters",
        by="#~ if warp == 0: cute.copy(st, ones, to_words)",
        product="#<>",
    ),
    _stored("nobody waits for stores of scales", "TT0633", by="#<", stored="#!", product="#>"),
    _stored(
        "scales that are overwritten while products read them",
        "TT0634",
        "stores to tensor memory where a product may still read",
        by="#>",
        product="#<",
        wait="#~ full = done.wait_and_advance(True)",
    ),
]

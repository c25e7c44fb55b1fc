"""A product of matrices as kernels of Hopper compute it, in tiles of 64 x 16 x 32.

A warp loads boxes into a ring of stages, for several blocks of a cluster at once; a warpgroup multiplies them and
stores the result as a box.
"""

from __future__ import annotations

from typing import Any

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from triptych.utils import LayoutEnum, hopper_helpers

M, N, K = TILE = 64, 16, 32
CONSUMERS = 128
THREADS = CONSUMERS + 32


@tt.kernel
def tiny_kernel(
    atoms: Any,
    tensors: Any,
    mma: cute.TiledMma,
    layouts: tt.Constexpr[Any],
    stages: tt.Constexpr[int],
    cluster: tt.Constexpr[tuple[int, int]],
) -> None:
    atom_a, atom_b, atom_d = atoms
    tensor_a, tensor_b, tensor_d = tensors
    layout_a, layout_b, layout_d = layouts
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cute.SmemAllocator()
    barriers = smem.allocate_array(tt.Int64, 2 * stages)
    shared_a = smem.allocate_tensor(atom_a.value_type, layout_a.outer, 1024, layout_a.inner)
    shared_b = smem.allocate_tensor(atom_b.value_type, layout_b.outer, 1024, layout_b.inner)
    shared_d = smem.allocate_tensor(atom_d.value_type, layout_d.outer, 1024, layout_d.inner)
    blocks = cute.make_layout((1, *cluster, 1))
    rank: Any = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    place: Any = blocks.get_flat_coord(rank)
    taken_by = 1 if tt.const_expr(cluster == (1, 1)) else cluster[0] + cluster[1] - 1
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=stages,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, taken_by * CONSUMERS // 32),
        tx_count=cute.size_in_bytes(atom_a.value_type, cute.slice_(layout_a, (None, None, 0)))
        + cute.size_in_bytes(atom_b.value_type, cute.slice_(layout_b, (None, None, 0))),
        barrier_storage=barriers,
        cta_layout_vmnk=blocks,
        defer_sync=True,
    )
    pipeline.pipeline_init_arrive(cluster_shape_mn=cluster, is_relaxed=True)
    here_a = cute.local_tile(tensor_a, (M, K), (block_m, None))
    here_b = cute.local_tile(tensor_b, (N, K), (block_n, None))
    to_a, from_a = cpasync.tma_partition(
        atom_a, place[2], cute.make_layout(cluster[1]), cute.group_modes(shared_a, 0, 2), cute.group_modes(here_a, 0, 2)
    )
    to_b, from_b = cpasync.tma_partition(
        atom_b, place[1], cute.make_layout(cluster[0]), cute.group_modes(shared_b, 0, 2), cute.group_modes(here_b, 0, 2)
    )
    mask_a: Any = cute.make_layout_image_mask(blocks, place, mode=2)
    mask_b: Any = cute.make_layout_image_mask(blocks, place, mode=1)
    pipeline.pipeline_init_wait(cluster_shape_mn=cluster)
    steps = cute.size(here_a, mode=[2])
    producer, consumer = pipe.make_participants()
    if warp == CONSUMERS // 32:
        for k in range(steps):
            stage = producer.acquire_and_advance()
            for atom, source, target, mask, extent in (
                (atom_a, from_a, to_a, mask_a, cluster[1]),
                (atom_b, from_b, to_b, mask_b, cluster[0]),
            ):
                if tt.const_expr(extent > 1):
                    cute.copy(
                        atom, source[None, k], target[None, stage.index], tma_bar_ptr=stage.barrier, mcast_mask=mask
                    )
                else:
                    cute.copy(atom, source[None, k], target[None, stage.index], tma_bar_ptr=stage.barrier)
        producer.tail()
    else:
        part = mma.get_slice(0)
        left = mma.make_fragment_A(part.partition_A(shared_a))
        right = mma.make_fragment_B(part.partition_B(shared_b))
        own = mma.get_slice(thread)
        sums = mma.make_fragment_C(own.partition_shape_C((M, N)))
        mma.set(warpgroup.Field.ACCUMULATE, False)
        for _ in range(steps):
            filled = consumer.wait_and_advance()
            warpgroup.fence()
            for j in tt.range_constexpr(cute.size(left, mode=[2])):
                cute.gemm(mma, sums, left[None, None, j, filled.index], right[None, None, j, filled.index], sums)
                mma.set(warpgroup.Field.ACCUMULATE, True)
            warpgroup.commit_group()
            warpgroup.wait_group(0)
            filled.release()
        results = cute.make_rmem_tensor(sums.shape, atom_d.value_type)
        results.store(sums.load().to(atom_d.value_type))
        cute.autovec_copy(results, own.partition_C(shared_d[None, None, 0]))
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=1, number_of_threads=CONSUMERS)
        if warp == 0:
            here_d = cute.local_tile(tensor_d, (M, N), (block_m, block_n))
            from_d, to_d = cpasync.tma_partition(
                atom_d, 0, cute.make_layout(1), cute.group_modes(shared_d, 0, 2), cute.group_modes(here_d, 0, 2)
            )
            cute.copy(atom_d, from_d[None, 0], to_d)
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0)


def atom_of(tensor: Any, layout: Any, tile: tuple[int, int], blocks: int) -> Any:
    op: Any = cpasync.CopyBulkTensorTileG2SMulticastOp() if blocks > 1 else cpasync.CopyBulkTensorTileG2SOp()
    return cpasync.make_tiled_tma_atom(op, tensor, cute.slice_(layout, (None, None, 0)), tile, num_multicast=blocks)


@tt.jit
def tiny_gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    sums: tt.Constexpr[Any],
    stages: tt.Constexpr[int],
    cluster: tt.Constexpr[tuple[int, int]],
) -> None:
    """D = A Bᵀ of row-major tensors (m, k), (n, k) and (m, n)."""
    row = LayoutEnum.ROW_MAJOR
    mode = OperandMajorMode.K
    mma = hopper_helpers.make_trivial_tiled_mma(a.element_type, b.element_type, mode, mode, sums, (1, 1, 1), (64, N))
    layout_a = hopper_helpers.make_smem_layout_a(row, TILE, a.element_type, stages)
    layout_b = hopper_helpers.make_smem_layout_b(row, TILE, b.element_type, stages)
    layout_d = hopper_helpers.make_smem_layout_epi(d.element_type, row, (M, N), 1)
    atom_a, tensor_a = atom_of(a, layout_a, (M, K), cluster[1])
    atom_b, tensor_b = atom_of(b, layout_b, (N, K), cluster[0])
    store = cpasync.CopyBulkTensorTileS2GOp()
    atom_d, tensor_d = cpasync.make_tiled_tma_atom(store, d, cute.slice_(layout_d, (None, None, 0)), (M, N))
    tiny_kernel(
        (atom_a, atom_b, atom_d), (tensor_a, tensor_b, tensor_d), mma, (layout_a, layout_b, layout_d), stages, cluster
    ).launch(grid=(cute.size(d, mode=[0]) // M, cute.size(d, mode=[1]) // N, 1), block=THREADS, cluster=(*cluster, 1))

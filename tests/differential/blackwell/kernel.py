"""A GEMM of Blackwell that decisions shape: one CTA or a pair, clusters, roles, stages, scales, schedules, epilogues.

Warps 0 to 3 store results, warp 4 starts products, warp 5 copies tiles (or warp 4 does both), warp 6 asks launch
control for further clusters.
"""

from __future__ import annotations

from typing import Any

import triptych as tt
from tests.differential.blackwell.program import KINDS, GemmProgram
from triptych import cute, pipeline, utils
from triptych.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from triptych.utils import blackwell_helpers, blockscaled_layout
from triptych.utils.gemm import sm100

WARPS = 7
THREADS = 32 * WARPS
MMA, COPY, ASK = 4, 5, 6
ANSWER_BYTES = 16


class Gemm:
    """c = factor * a @ b.T, with or without scales of a and b."""

    epilogue_warp_id = (0, 1, 2, 3)
    epilog_sync_bar_id = 1
    num_c_stage = 2

    def __init__(self, program: GemmProgram) -> None:
        self.program = program
        self.acc_dtype = program.sum_type
        self.use_2cta_instrs = program.ctas == 2
        self.tile = (*program.shape, program.depth)
        self.cta_tile_shape_mnk = (program.shape[0] // program.ctas, program.shape[1], program.depth)

    def _mma(self) -> Any:
        program = self.program
        a, b, scale, vector = KINDS[program.kind]
        group = tcgen05.CtaGroup(program.ctas)
        majors = [OperandMajorMode.K if major == "k" else OperandMajorMode.MN for major in program.majors]
        if vector:
            made: Any = blackwell_helpers.make_blockscaled_trivial_tiled_mma
            return made(a, b, *majors, scale, vector, group, program.shape)
        return blackwell_helpers.make_trivial_tiled_mma(a, b, *majors, self.acc_dtype, group, program.shape)

    @tt.jit
    def __call__(self, x: cute.Tensor, w: cute.Tensor, sfx: cute.Tensor, sfw: cute.Tensor, y: cute.Tensor) -> None:
        program, mma = self.program, self._mma()
        m, n, k = program.extents
        a_type, b_type, _, vector = KINDS[program.kind]
        shape = (m, n, 1)
        y = cute.make_tensor(
            y.iterator, cute.make_layout(shape, stride=(n, 1, m * n) if program.major == "n" else (1, m, m * n))
        )
        x, w = (
            cute.make_tensor(
                cute.recast_ptr(array.iterator, dtype=kind),
                cute.make_layout((rows, k), stride=(k, 1) if major == "k" else (1, rows)),
            )
            for array, kind, rows, major in zip((x, w), (a_type, b_type), (m, n), program.majors, strict=True)
        )
        self.c_dtype, self.c_layout = y.element_type, utils.LayoutEnum.from_tensor(y)
        stages = program.stages
        a = blackwell_helpers.make_smem_layout_a(mma, self.tile, a_type, stages)
        b = blackwell_helpers.make_smem_layout_b(mma, self.tile, b_type, stages)
        self.epi_tile = blackwell_helpers.compute_epilogue_tile_shape(
            self.cta_tile_shape_mnk, self.use_2cta_instrs, self.c_layout, self.c_dtype
        )
        c = blackwell_helpers.make_smem_layout_epi(self.c_dtype, self.c_layout, self.epi_tile, self.num_c_stage)
        blocks = cute.tiled_divide(cute.make_layout((*program.cluster, 1)), (mma.thr_id.shape,))
        load_a = blackwell_helpers.cluster_shape_to_tma_atom_A(program.cluster, mma.thr_id)
        load_b = blackwell_helpers.cluster_shape_to_tma_atom_B(program.cluster, mma.thr_id)
        of_a, of_b = (cute.select(layout, mode=[0, 1, 2]) for layout in (a, b))
        loads = [
            *cute.nvgpu.make_tiled_tma_atom_A(load_a, x, of_a, self.tile, mma, blocks.shape),
            *cute.nvgpu.make_tiled_tma_atom_B(load_b, w, of_b, self.tile, mma, blocks.shape),
        ]
        layouts: list[Any] = [a, b, c]
        if tt.const_expr(bool(vector)):
            sfa = blockscaled_layout.make_smem_layout_sfa(mma, self.tile, vector, stages)
            sfb = blockscaled_layout.make_smem_layout_sfb(mma, self.tile, vector, stages)
            layouts += [sfa, sfb]
            load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
            for make, array, whole, layout in (
                (cute.nvgpu.make_tiled_tma_atom_A, sfx, (m, k, 1), sfa),
                (cute.nvgpu.make_tiled_tma_atom_B, sfw, (n, k, 1), sfb),
            ):
                scales = cute.make_tensor(
                    cute.recast_ptr(array.iterator, dtype=mma.op.sf_dtype),
                    blockscaled_layout.tile_atom_to_shape_SF(whole, vector),
                )
                one = cute.slice_(layout, (None, None, None, 0))
                loads += make(load, scales, one, self.tile, mma, blocks.shape, internal_type=tt.Int16)
        store, results = None, y
        if tt.const_expr(program.by_tma):
            store, results = cpasync.make_tiled_tma_atom(
                cpasync.CopyBulkTensorTileS2GOp(), y, cute.select(c, mode=[0, 1]), self.epi_tile
            )
        count = (program.tiles[0] * program.ctas, program.tiles[1], 1)
        cluster = (*program.cluster, 1)
        if tt.const_expr(program.schedule == "clc"):
            params: Any = utils.ClcDynamicPersistentTileSchedulerParams(count, cluster)
            grid = utils.ClcDynamicPersistentTileScheduler.get_grid_shape(params)
        else:
            params = utils.PersistentTileSchedulerParams(count, cluster)
            most = 2 if program.schedule == "static" else 64
            grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, most)
        self.kernel(tuple(loads), store, results, mma, layouts, blocks, params).launch(
            grid=grid, block=THREADS, cluster=cluster
        )

    @tt.kernel
    def kernel(
        self,
        loads: Any,
        store: cute.CopyAtom | None,
        y: cute.Tensor,
        mma: Any,
        layouts: tt.Constexpr[Any],
        blocks: tt.Constexpr[Any],
        params: tt.Constexpr[Any],
    ) -> None:
        program = self.program
        thread, _, _ = cute.arch.thread_idx()
        warp, rank = (
            cute.arch.make_warp_uniform(each) for each in (cute.arch.warp_idx(), cute.arch.block_idx_in_cluster())
        )
        place = blocks.get_flat_coord(rank)
        leads = place[0] == 0
        smem = cute.SmemAllocator()
        a, b, c, *of_scales = layouts
        types = (mma.op.a_dtype, mma.op.b_dtype)
        tile_a = smem.allocate_tensor(types[0], a.outer, 1024, a.inner)
        tile_b = smem.allocate_tensor(types[1], b.outer, 1024, b.inner)
        tile_c = smem.allocate_tensor(self.c_dtype, c.outer, 1024, c.inner)
        scales = [smem.allocate_tensor(mma.op.sf_dtype, layout, 1024) for layout in of_scales]
        size = sum(
            cute.size_in_bytes(kind, cute.select(layout, mode=[0, 1, 2]))
            for kind, layout in zip(types, (a, b), strict=True)
        )
        size += sum(
            cute.size_in_bytes(mma.op.sf_dtype, cute.slice_(layout, (None, None, None, 0))) for layout in of_scales
        )
        along_m, along_n = program.cluster[0] // program.ctas, program.cluster[1]
        thread_group = pipeline.CooperativeGroup
        one = thread_group(pipeline.Agent.Thread, 1)
        tiles = pipeline.PipelineTmaUmma.create(
            num_stages=program.stages,
            producer_group=one,
            consumer_group=thread_group(pipeline.Agent.Thread, along_m + along_n - 1),
            tx_count=size * program.ctas,
            barrier_storage=smem.allocate_array(tt.Int64, 2 * program.stages),
            cta_layout_vmnk=blocks,
        )
        sums = pipeline.PipelineUmmaAsync.create(
            num_stages=program.sums,
            producer_group=one,
            consumer_group=thread_group(pipeline.Agent.Thread, 4 * program.ctas),
            barrier_storage=smem.allocate_array(tt.Int64, 2 * program.sums),
            cta_layout_vmnk=blocks,
        )
        answers, work, scheduler = self._schedule(smem, params, blocks)
        columns = utils.TmemAllocator(
            smem.allocate_array(tt.Int32, 1),
            is_two_cta=self.use_2cta_instrs,
            two_cta_tmem_dealloc_mbar_ptr=smem.allocate_array(tt.Int64, 1),
        )
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
        columns.allocate(512)
        columns.wait_for_alloc()

        m, n, k = self.tile
        own = mma.get_slice(place[0])
        load_a, x, load_b, w, *load_scales = loads
        to_a, from_a = parts(
            load_a, tile_a, own.partition_A(cute.local_tile(x, (m, k), (None, None))), blocks, place, 2
        )
        to_b, from_b = parts(
            load_b, tile_b, own.partition_B(cute.local_tile(w, (n, k), (None, None))), blocks, place, 1
        )
        mask_a, mask_b = (cpasync.create_tma_multicast_mask(blocks, place, mcast_mode=mode) for mode in (2, 1))
        moves = [
            (load_a, from_a, to_a, mask_a if along_n > 1 else None, 0),
            (load_b, from_b, to_b, mask_b if along_m > 1 else None, 1),
        ]
        if tt.const_expr(program.is_scaled):
            sfx, sfw = load_scales[1], load_scales[3]
            of_sfx = own.partition_A(cute.local_tile(sfx, (m, k), (None, None, 0)))
            of_sfw = own.partition_B(cute.local_tile(sfw, (n, k), (None, None, 0)))
            for number, (atom, tile, part) in enumerate(
                ((load_scales[0], scales[0], of_sfx), (load_scales[2], scales[1], of_sfw))
            ):
                to, from_ = parts(atom, tile, part, None, place, 0)
                moves.append((atom, cute.filter_zeros(from_), cute.filter_zeros(to), None, number))
        of_y = own.partition_C(cute.local_tile(y, (m, n), (None, None, None)))
        start = columns.retrieve_ptr(self.acc_dtype)
        shape = cute.append(mma.partition_shape_C((m, n)), program.sums)
        table = cute.make_tensor(start, mma.make_fragment_C(shape).layout)
        left, right = mma.make_fragment_A(tile_a), mma.make_fragment_B(tile_b)
        held = self._scale_columns(mma, start, table, of_scales) if tt.const_expr(program.is_scaled) else []
        producer, consumer = tiles.make_participants()
        begun = sums.make_participants()[0]
        storing = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, program.sums)
        reading = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
        asking = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
        executed = tt.Int32(0)
        stores = pipeline.PipelineTmaStore.create(
            num_stages=self.num_c_stage, producer_group=thread_group(pipeline.Agent.Thread, 128)
        )
        while work.is_valid_tile:
            at_m, at_n, _ = work.tile_idx
            at = (at_m // program.ctas, at_n, tt.Int32(0))
            if tt.const_expr(program.schedule == "clc"):  # noqa: SIM102
                if warp == ASK and rank == 0:
                    answers.producer_acquire(asking)
                    scheduler.advance_to_next_work(answers.producer_get_barrier(asking))
                    asking.advance()
            if tt.const_expr(program.roles == 2):
                if warp == COPY:
                    for step in range(program.steps):
                        self._copy_tile(producer, moves, at, step)
                if warp == MMA and leads:
                    result = begun.acquire_and_advance()
                    mma.set(tcgen05.Field.ACCUMULATE, False)
                    for _ in range(program.steps):
                        self._multiply(consumer, mma, table[None, None, None, result.index], left, right, scales, held)
                        mma.set(tcgen05.Field.ACCUMULATE, True)
                    result.commit()
            else:
                if warp == MMA:
                    if leads:
                        result = begun.acquire_and_advance()
                        mma.set(tcgen05.Field.ACCUMULATE, False)
                        for step in range(program.steps):
                            self._copy_tile(producer, moves, at, step)
                            self._multiply(
                                consumer, mma, table[None, None, None, result.index], left, right, scales, held
                            )
                            mma.set(tcgen05.Field.ACCUMULATE, True)
                        result.commit()
                    else:
                        for step in range(program.steps):
                            self._copy_tile(producer, moves, at, step)
            if warp < MMA:
                if tt.const_expr(program.by_tma):
                    given = (table, tile_c, of_y, self.epi_tile, executed, self._scaled, at, storing, sums, stores)
                    storing = sm100.epilogue_tma_store(self, thread, warp, store, *given)
                else:
                    storing = sm100.epilogue(self, thread, table, of_y, self.epi_tile, self._scaled, at, storing, sums)
            executed += 1
            if tt.const_expr(program.schedule == "clc"):
                answers.consumer_wait(reading)
                work = scheduler.get_current_work()
                answers.consumer_release(reading)
                reading.advance()
            else:
                scheduler.advance_to_next_work()
                work = scheduler.get_current_work()
        if warp == (COPY if program.roles == 2 else MMA):
            producer.tail()
        if warp == MMA and leads:
            begun.tail()
        if tt.const_expr(program.schedule == "clc"):  # noqa: SIM102
            if warp == ASK and rank == 0:
                answers.producer_tail(asking)
        if warp < MMA:
            stores.producer_tail()
        cute.arch.sync_threads()
        columns.free(start)
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()

    def _scaled(self, values: Any) -> Any:
        return values * self.program.factor

    def _schedule(self, smem: Any, params: Any, blocks: Any) -> tuple[Any, Any, Any]:
        """The pipeline of answers, the first tile, and the scheduler."""
        where = cute.arch.block_idx(), cute.arch.grid_dim()
        if self.program.schedule != "clc":
            scheduler = utils.StaticPersistentTileScheduler.create(params, *where)
            return None, scheduler.initial_work_tile_info(), scheduler
        readers = pipeline.CooperativeGroup(pipeline.Agent.Thread, THREADS * cute.size(blocks))
        response = smem.allocate_array(tt.Int32, 4, ANSWER_BYTES)
        answers = pipeline.PipelineClcFetchAsync.create(
            num_stages=1,
            producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 1),
            consumer_group=readers,
            tx_count=ANSWER_BYTES,
            barrier_storage=smem.allocate_array(tt.Int64, 2),
            cta_layout_vmnk=blocks,
        )
        clc = utils.ClcDynamicPersistentTileScheduler.create(params, *where, response)
        return answers, clc.initial_work_tile_info(), clc

    def _scale_columns(self, mma: Any, start: Any, table: Any, layouts: Any) -> list[Any]:
        """Scales of A and of B, in the columns behind the sums."""
        column = tcgen05.find_tmem_tensor_col_offset(table)
        found = []
        made = (blockscaled_layout.make_tmem_layout_sfa, blockscaled_layout.make_tmem_layout_sfb)
        for make, layout in zip(made, layouts, strict=True):
            form = make(mma, self.tile, mma.op.sf_vec_size, cute.slice_(layout, (None, None, None, 0)))
            found.append(cute.make_tensor(cute.recast_ptr(start + column, dtype=mma.op.sf_dtype), form))
            column += tcgen05.find_tmem_tensor_col_offset(found[-1])
        return found

    def _copy_tile(self, producer: Any, moves: Any, at: Any, step: Any) -> None:
        empty = producer.acquire_and_advance()
        for atom, source, target, mask, mode in moves:
            more = {} if mask is None else {"mcast_mask": mask}
            cute.copy(atom, source[None, at[mode], step], target[None, empty.index], tma_bar_ptr=empty.barrier, **more)

    def _multiply(self, consumer: Any, mma: Any, sums: Any, left: Any, right: Any, scales: Any, held: Any) -> None:
        full = consumer.wait_and_advance()
        for shared, target in zip(scales, held, strict=True):
            copy_scales(mma, shared, target, full.index)
        if held:
            every = (None, None, None, full.index)
            cute.gemm(mma, sums, [left[every], held[0]], [right[every], held[1]], sums)
        else:
            for i in range(cute.size(left, mode=[2])):
                at = (None, None, i, full.index)
                cute.gemm(mma, sums, left[at], right[at], sums)
                mma.set(tcgen05.Field.ACCUMULATE, True)
        full.release()


def copy_scales(mma: Any, shared: Any, scales: Any, stage: Any) -> None:
    """The scales of a stage to tensor memory."""
    from_, to = cute.filter_zeros(shared), cute.filter_zeros(scales)
    atom = cute.make_copy_atom(tcgen05.Cp4x32x128bOp(tcgen05.CtaGroup.ONE), mma.op.sf_dtype)
    copy: Any = tcgen05.make_s2t_copy(atom, to)
    source = tcgen05.get_s2t_smem_desc_tensor(copy, copy.partition_S(from_))
    cute.copy(copy, source[None, None, None, None, stage], copy.partition_D(to))


def parts(load: Any, shared: Any, matrix: Any, blocks: Any, place: Any, mode: int) -> Any:
    """Where the copies of a matrix go and come from, for this block of those that share it."""
    others: Any = cute.make_layout(1)
    own: Any = 0
    if blocks is not None:
        sliced = (0, 0, None, 0) if mode == 2 else (0, None, 0, 0)
        others, own = cute.make_layout(cute.slice_(blocks, sliced).shape), place[mode]
    return cpasync.tma_partition(load, own, others, cute.group_modes(shared, 0, 3), cute.group_modes(matrix, 0, 3))

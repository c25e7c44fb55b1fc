"""Tables of public CuTe DSL names: modules with their homes in Triptych, and names by the tier of programs.

Several public modules may be one module here. A module of which nothing is here yet stands in the table without a home:
it can be imported, so that a program that never uses it runs, and each of its names is an error that tells the tier.
A module that is in neither table cannot be imported.

The names are facts, counted over the public examples (version 4.7): what a program can ask for, whether it is here or
not. The error for a name that is not here yet, and `triptych coverage`, read this table.
"""

from __future__ import annotations

from functools import cache

from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    """Programs that need the same machine, and when what they use comes."""

    title: str
    when: str


_HERE = "its tier is here, this name is not yet"
_BLACKWELL = "it comes with the instructions of Blackwell"

TIERS = {
    "T0": Tier("programs of the host", _HERE),
    "T1": Tier("kernels of plain threads", _HERE),
    "T2": Tier("SM80: cp.async, ldmatrix, mma.sync", _HERE),
    "T3a": Tier("SM90: TMA, transaction barriers, clusters", _HERE),
    "T3b": Tier("SM90: WGMMA", _HERE),
    "T4": Tier("SM120: mma.sync fed by TMA", _HERE),
    "T5": Tier("SM100: tcgen05, tensor memory", _BLACKWELL),
    "experimental": Tier("experimental API", "not before its public names settle"),
}

_APART = {
    "cutlass.utils.distributed": "it comes with kernels on several GPUs, which is work of its own",
}
"""What waits for something else than its tier."""

_NAMES: dict[str, dict[str, str]] = {
    "T0": {
        "cutlass": "AddressSpace Constexpr Float16 Float32 Int32 Int8 const_expr for_generate range_constexpr",
        "cutlass._mlir.dialects": "llvm",
        "cutlass._mlir.dialects.llvm": "PointerType StructType extractvalue",
        "cutlass._mlir.ir": "IntegerType Value",
        "cutlass.cute": """
            Pointer ReductionOp Shape Tensor TensorSSA blocked_product coalesce compile composition depth
            flat_divide flat_product jit logical_divide logical_product make_composed_layout
            make_identity_layout make_identity_tensor make_layout make_layout_tv make_ordered_layout
            make_ptr make_rmem_tensor make_tensor print_tensor printf raked_product size sym_int32 sym_int64
            tiled_divide tiled_product zipped_divide zipped_product
        """,
        "cutlass.cute.math": "exp2 sin sqrt",
        "cutlass.cute.runtime": "from_dlpack load_module make_fake_compact_tensor make_fake_tensor make_ptr",
        "cutlass.cutlass_dsl": "yield_out",
        "cutlass.jax": "TensorSpec cutlass_call",
        "cutlass.torch": "dtype",
        "cutlass.utils": "print_latex print_latex_tv",
    },
    "T1": {
        "cutlass": """
            BFloat16 Boolean DSLCudaRuntimeError Float Float4E2M1FN Int64 Numeric Uint32 Uint8 dynamic_expr
            max range
        """,
        "cutlass._mlir.dialects.llvm": "AsmDialect inline_asm",
        "cutlass._mlir.dialects.vector": "bitcast",
        "cutlass.base_dsl.runtime.cuda": "checkCudaErrors load_cubin_module_data",
        "cutlass.cuda": "default_stream initialize_cuda_context stream_sync",
        "cutlass.cute": """
            GenerateLineInfo Int KeepCUBIN KeepPTX Layout SymInt TiledCopy all_ autovec_copy ceil_div copy
            elem_less full_like group_modes kernel local_tile make_copy_atom make_fragment_like
            make_rmem_tensor_like make_tiled_copy_tv product_each recast_layout recast_ptr recast_tensor
            repeat_like rsqrt select slice_ struct struct.Align struct.MemRange sym_int where
        """,
        "cutlass.cute.arch": """
            FULL_MASK WARP_SIZE block_dim block_idx dynamic_smem_size grid_dim shuffle_sync_bfly
            sync_threads thread_idx vote_all_sync vote_any_sync vote_ballot_sync vote_uni_sync
        """,
        "cutlass.cute.nvgpu": "CopyG2ROp CopyR2GOp CopyUniversalOp MemoryOrder MemoryScope",
        "cutlass.cute.runtime": "Pointer find_runtime_libraries",
        "cutlass.cute.testing": "JitArguments autotune_jit benchmark tune",
        "cutlass.cutlass_dsl": "T dsl_user_op extract_mlir_values new_from_mlir_values",
        "cutlass.jax": "cutlass_to_jax_dtype get_export_disabled_safety_checks",
        "cutlass.jax.testing": "create_tensor",
        "cutlass.torch": "current_stream",
        "cutlass.utils": "SmemAllocator",
    },
    "T2": {
        "cutlass": "Float8E4M3FN Float8E5M2 dtype min",
        "cutlass.cute": """
            ComposedLayout Swizzle TiledMma assume basic_copy cosize domain_offset gemm make_swizzle
            make_tiled_copy_A make_tiled_copy_B make_tiled_copy_C make_tiled_mma tile_to_shape
        """,
        "cutlass.cute.arch": "cp_async_commit_group cp_async_wait_group fmax rcp_approx",
        "cutlass.cute.nvgpu": "LoadCacheMode MmaUniversalOp",
        "cutlass.cute.nvgpu.cpasync": "CopyG2SOp",
        "cutlass.cute.nvgpu.warp": "LdMatrix8x16x8bOp LdMatrix8x8x16bOp MmaF16BF16Op MmaFP8Op",
        "cutlass.cute.runtime": "make_fake_stream",
        "cutlass.cute.testing": "get_workspace_count",
        "cutlass.pipeline": "NamedBarrier",
        "cutlass.utils": "LayoutEnum create_cute_tensor_for_fp8 get_smem_capacity_in_bytes is_fp8_dtype",
    },
    "T3a": {
        "cutlass.cute": "CopyAtom crd2idx make_tiled_copy prepend rank size_in_bytes",
        "cutlass.cute.arch": """
            barrier block_idx_in_cluster cluster_arrive_relaxed cluster_wait cp_async_bulk_commit_group
            cp_async_bulk_wait_group elect_one fence_proxy griddepcontrol_launch_dependents
            griddepcontrol_wait lane_idx make_warp_uniform mbarrier_arrive mbarrier_arrive_and_expect_tx
            mbarrier_expect_tx mbarrier_init mbarrier_init_fence mbarrier_wait warp_idx warp_reduction
        """,
        "cutlass.cute.math": "rsqrt",
        "cutlass.cute.nvgpu.cpasync": """
            CopyBulkTensorTileG2SOp CopyBulkTensorTileS2GOp make_tiled_tma_atom tma_partition
        """,
        "cutlass.pipeline": """
            Agent CooperativeGroup PipelineAsync PipelineTmaAsync PipelineTmaStore PipelineUserType
            make_pipeline_state pipeline_init_arrive pipeline_init_wait
        """,
        "cutlass.utils": "HardwareInfo PersistentTileSchedulerParams StaticPersistentTileScheduler",
        "cutlass.utils.blackwell_helpers": "make_smem_layout",
        "cutlass.utils.distributed": """
            multimem_ld_reduce_4xf32 multimem_red_add1 multimem_st_4xb32 spin_lock_atom_cas_relaxed_wait
        """,
    },
    "T3b": {
        "cutlass._mlir._mlir_libs._cutlass_ir": "_mlir",
        "cutlass._mlir.dialects": "nvvm",
        "cutlass._mlir.dialects.llvm": "addrspacecast",
        "cutlass._mlir.dialects.math": "log",
        "cutlass._mlir.dialects.nvvm": """
            CpAsyncBulkTensorGlobalToSharedClusterOp CpAsyncBulkTensorLoadMode TMALoadMode elect_sync
            mbarrier_try_wait_parity_timelimit
        """,
        "cutlass._mlir.dialects.vector": "extract",
        "cutlass.cute": """
            Coord ThrMma append erf get make_layout_image_mask make_tiled_copy_C_atom make_tiled_copy_S
            round_up shape
        """,
        "cutlass.cute.arch": """
            add_packed_f32x2 block_in_cluster_idx cluster_arrive cluster_dim cluster_idx fma_packed_f32x2
            prmt setmaxregister_decrease setmaxregister_increase shuffle_sync_op sub_packed_f32x2 sync_warp
            warp_reduction_max warp_reduction_sum warpgroup_reg_alloc warpgroup_reg_dealloc
        """,
        "cutlass.cute.nvgpu": "OperandMajorMode",
        "cutlass.cute.nvgpu.cpasync": """
            CopyBulkTensorTileG2SMulticastOp cp_fence_tma_desc_release fence_tma_desc_release
            prefetch_descriptor update_tma_descriptor
        """,
        "cutlass.cute.nvgpu.warp": "StMatrix8x8x16bOp",
        "cutlass.cute.nvgpu.warpgroup": "Field OperandSource commit_group fence make_smem_layout_atom wait_group",
        "cutlass.cute.testing": "convert",
        "cutlass.cutlass_dsl": "if_generate not_ while_generate",
        "cutlass.pipeline": "PipelineConsumer PipelineOrder arrive_and_wait sync",
        "cutlass.torch": """
            RandomInitConfig TensorInitType convert_cute_tensor create_and_permute_torch_tensor
            cute_tensor_like default_stream matrix
        """,
        "cutlass.utils": """
            GroupedGemmTileSchedulerHelper TensorMapManager TensorMapUpdateMode WorkTileInfo
            create_initial_search_state
        """,
        "cutlass.utils.hopper_helpers": """
            compute_tile_shape_or_override get_smem_layout_atom make_smem_layout_a make_smem_layout_b
            make_smem_layout_epi make_trivial_tiled_mma sm90_get_smem_store_op
        """,
    },
    "T4": {
        "cutlass": "Float8E8M0FNU Int16",
        "cutlass.cute": "filter_zeros",
        "cutlass.cute.nvgpu.warp": "MXF8F6F4_SUPPORTED_PAIRS MmaMXF4NVF4Op MmaMXF4Op MmaMXF8F6F4Op MmaMXF8Op",
        "cutlass.pipeline": "PipelineState",
        "cutlass.utils.blackwell_helpers": """
            get_layoutSFA_TV get_layoutSFB_TV get_permutation_mnk partition_fragment_SFA
            partition_fragment_SFB sm120_get_smem_store_op
        """,
        "cutlass.utils.blockscaled_layout": """
            sm120_make_smem_layout_sfa sm120_make_smem_layout_sfb tile_atom_to_shape_SF
        """,
    },
    "T5": {
        "cutlass": """
            CUDA_VERSION Float6E2M3FN Float6E3M2FN Float8E4M3 Int4 Integer TFloat32 Uint64 __version__ int
            target_version
        """,
        "cutlass._mlir.dialects.cute": "PtrType recast_iter",
        "cutlass._mlir.dialects.cute_nvgpu": "TmaDescriptorTiledType atom_make_non_exec_tiled_tma_load",
        "cutlass._mlir.dialects.llvm": "bitcast",
        "cutlass._mlir.dialects.math": "absf",
        "cutlass._mlir.dialects.vector": "from_elements",
        "cutlass._mlir.ir": "InsertionPoint Location Type VectorType",
        "cutlass.base_dsl.arch": "Arch",
        "cutlass.cute": """
            FastDivmodDivisor Tile basic_copy_if copy_atom_call dice exp fast_divmod_create_divisor flatten
            make_cotiled_copy make_mma_atom make_tiled_copy_D mma_atom_call prefetch shape_div tanh
            zeros_like
        """,
        "cutlass.cute.arch": """
            Arch alloc_tmem atomic_add atomic_fmax block_in_cluster_dim dealloc_tmem fence_acq_rel_cta
            fence_view_async_shared fence_view_async_tmem_load fence_view_async_tmem_store
            get_max_tmem_alloc_cols get_min_tmem_alloc_cols load map_dsmem_ptr mul_packed_f32x2 nanosleep
            popc prefetch relinquish_tmem_alloc_permit retrieve_tmem_ptr sext_unpacked_i4_i8_intrinsic
            shuffle_sync_up store warp_redux_sync
        """,
        "cutlass.cute.experimental.iket": "range_pop range_push",
        "cutlass.cute.math": "exp log log2",
        "cutlass.cute.nvgpu": "CacheEvictionPriority make_tiled_tma_atom_A make_tiled_tma_atom_B",
        "cutlass.cute.nvgpu.cpasync": """
            CopyBulkTensorTileG2SNonExecTrait CopyDsmemStoreOp CopyReduceBulkTensorTileS2GOp TmaInfo
            copy_tensormap create_tma_multicast_mask
        """,
        "cutlass.cute.nvgpu.tcgen05": """
            Cp4x32x128bOp CtaGroup Field Ld16x256bOp Ld32x32bOp LdRed32x32bOp MmaF16BF16Op MmaMXF4NVF4Op
            OperandSource Pack Repetition SM103MmaMXF4NVF4Op SM103MmaMXF4Op SmemLayoutAtomKind St16x128bOp
            St16x256bOp St32x32bOp TmemLoadRedOp Unpack find_tmem_tensor_col_offset get_s2t_smem_desc_tensor
            make_s2t_copy make_smem_layout_atom make_tmem_copy make_umma_smem_desc tile_to_mma_shape
        """,
        "cutlass.cute.nvgpu.warp": "LdMatrix16x16x8bOp",
        "cutlass.cute.testing": "CantImplementError add_tensor_init_args validate_tensor_init_args",
        "cutlass.cutlass_dsl": "BaseDSL",
        "cutlass.pipeline": """
            PipelineAsyncUmma PipelineClcFetchAsync PipelineCpAsync PipelineOp PipelineProducer
            PipelineTmaMultiConsumersAsync PipelineTmaUmma PipelineUmmaAsync
        """,
        "cutlass.torch": "GaussianInitConfig ScalarInitConfig as_tensor from_dlpack get_leading_dim",
        "cutlass.utils": """
            ClcDynamicPersistentTileScheduler ClcDynamicPersistentTileSchedulerParams
            StaticPersistentGroupTileScheduler StaticPersistentRuntimeTileScheduler TmemAllocator
            compute_epilogue_tile_shape get_num_tmem_alloc_cols
        """,
        "cutlass.utils.blackwell_helpers": """
            cluster_shape_to_tma_atom_A cluster_shape_to_tma_atom_B cluster_shape_to_tma_atom_SFB
            compute_epilogue_tile_shape get_smem_layout_atom_ab get_smem_store_op get_tmem_load_op
            make_blockscaled_trivial_tiled_mma make_smem_layout_a make_smem_layout_atom make_smem_layout_b
            make_smem_layout_epi make_trivial_tiled_mma
        """,
        "cutlass.utils.blockscaled_layout": """
            make_smem_layout_sfa make_smem_layout_sfb make_tmem_layout_sfa make_tmem_layout_sfb
        """,
        "cutlass.utils.distributed": """
            multimem_ld_reduce multimem_st red_add1 spin_lock_atom_cas_acquire_wait
            spin_lock_ld_lt_relaxed_wait
        """,
        "cutlass.utils.gemm.sm100": """
            epilogue epilogue_smem_copy_and_partition epilogue_tma_store epilogue_tmem_copy_and_partition
            transform_partitioned_tensor_layout
        """,
        "cutlass.utils.mixed_input_helpers": """
            TransformMode compute_smem_layout contiguous_group_search
            create_initial_contiguous_group_search_state cvt_tensor_a epilog_gmem_copy_and_partition
            epilog_smem_copy_and_partition epilog_tmem_copy_and_partition get_copy_atom_a_transform
            get_divisibility get_gmem_layout_scale get_smem_layout_scale get_tma_atom_kind
            get_transform_a_source is_shuffle_a is_valid_mma_tiler_and_cluster_shape
            is_valid_scale_granularity is_valid_tensor_alignment make_contiguous_group_work_tile_info
            scale_partition scale_tma_partition store_transformed_a transform_partition
        """,
    },
    "experimental": {
        "cutlass": """
            Array Float4E2M1FNx2 Float6E3M2FNx4 GridConstant Int128 Pointer Swizzle Uint16 Vector
            debug_print_mlir_values full inttoptr make_array_view print_nd_vector set_dynamic_debug vector
        """,
        "cutlass._mlir_helpers": "dialect_proxy",
        "cutlass.base_dsl": "dsl",
        "cutlass.cute": "_pack_shape _pack_tile append_ones",
        "cutlass.cute.arch": "alloc_smem atomic_fmin cluster_size shuffle_sync shuffle_sync_down",
        "cutlass.cute.nvgpu.tcgen05": "CollectorOp",
        "cutlass.cute.nvgpu.warp": "Field",
        "cutlass.utils.distributed": "atomicAdd",
        "cutlass.cute.experimental": """
            OperationTypeEnum TMAStorePipeline TMAToUMMAPipeline UMMAtoAsyncPipeline allocate compile copy
            dot dot_block_scaled epilogue_tma_store get_cta_v_map_ab get_cta_v_map_c get_mbarrier jit kernel
            mainloop_mma make_t2r_rmem_layout make_tmem_layout_acc partition partition_and_copy
            pipeline_advance_iterator tma_load tma_load_multicast tma_store
        """,
        "cutlass.cute.experimental.host_runtime": "QueryDeviceWorkspaceFunc",
        "cutlass.cute.math": "max min rcp",
        "cutlass.experimental.cuda": """
            TensorMap TensorMapDataFormat TensorMapSwizzle create_tensor_map_tiled
            create_tensor_map_tiled_from_view
        """,
        "cutlass.experimental.primitives": """
            CTAGroup LoadShape LoadSrcFormat MBarrierWait MMABlockScaleKind MMALayout MemOrder MemScope
            Proxy ReductionKind ReductionOp ReductionType S2TCopyMode SetMaxRegisterAction SharedSpace Shfl
            StoreShape Tcgen05CpSrcFormat Tcgen05Fence Tcgen05InstrDesc Tcgen05LdStShape
            Tcgen05MMABlockScale Tcgen05MMACollectorOp Tcgen05MMAKind Tcgen05MxInstrDesc
            Tcgen05MxOmmaInstrDesc Tcgen05SmemDesc Tcgen05SmemSwizzle Tcgen05Wait TensormapField TmemAddr
            VoteSync bar_warp_sync barrier barrier_cluster_arrive barrier_cluster_arrive_relaxed
            barrier_cluster_wait barrier_cta_arrive barrier_cta_red barrier_cta_sync
            barrier_cta_sync_aligned cluster_ctarank cp_async_bulk_commit_group
            cp_async_bulk_global_shared_cta cp_async_bulk_prefetch cp_async_bulk_shared_cluster_global
            cp_async_bulk_shared_cluster_shared_cta cp_async_bulk_tensor_global_shared_cta
            cp_async_bulk_tensor_shared_cluster_global cp_async_bulk_tensor_shared_cta_global
            cp_async_bulk_wait_group cp_async_commit_group cp_async_mbarrier_arrive cp_async_shared_global
            cp_async_wait_group elect_sync exit fence_mbarrier_init fence_proxy fence_proxy_acquire
            fence_proxy_release ldmatrix make_tmem_ptr make_tmem_ptr_from_warp_row_col mapa mbarrier_arrive
            mbarrier_arrive_expect_tx mbarrier_expect_tx mbarrier_init mbarrier_inval
            mbarrier_try_wait_parity mbarrier_try_wait_timelimit mbarrier_wait_parity prefetch_tensormap
            print_runtime red redux_sync setmaxregister shfl_sync stmatrix tcgen05_alloc tcgen05_commit
            tcgen05_cp tcgen05_dealloc tcgen05_fence tcgen05_ld tcgen05_mma tcgen05_mma_block_scale
            tcgen05_relinquish_alloc_permit tcgen05_st tcgen05_wait tensormap_replace vote_sync
        """,
        "cutlass.experimental.task_scheduling": """
            MemoryResource PdlLaunchBarrier PdlWaitBarrier PipelineConfig PipelineGroup PipelineGroupMode
            SignalingThreads SmemAllocation SmemAllocator StageInfo Task TaskLocalVariable TaskManager
            TileSchedulerConfig TmemAllocation TmemAllocator WorkAttr WorkQueue consumer_work domain_loop
            producer_work schedule work_tile_loop
        """,
        "cutlass.utils.blackwell_helpers": "check_gemm_tma_alignment compute_epilogue_tile_size",
    },
}


@cache
def public_names() -> dict[str, str]:
    """Each public name in full, `cutlass.cute.arch.thread_idx`, and its tier; in the order of tiers."""
    return {
        f"{module}.{name}": tier
        for tier, modules in _NAMES.items()
        for module, names in modules.items()
        for name in names.split()
    }


@cache
def tier_of_module(module: str) -> str | None:
    """The first tier of which a program uses the module, if any does."""
    return next((tier for name, tier in public_names().items() if name.startswith(f"{module}.")), None)


@cache
def tier_of(name: str) -> str | None:
    """The tier of a public name, also of a module, and of a name under another module than the one that has it."""
    exact = public_names().get(name) or tier_of_module(name) or _tier_by_spelling(name)
    module, _, word = name.rpartition(".")
    around = {tier for other, tier in public_names().items() if other.startswith(f"{module}.")} - {"experimental"}
    if exact is None and len(around) == 1:  # as everything of `tcgen05`, whatever it is called
        return around.pop()
    return exact or _by_last_word().get(word)


_SPELLINGS = {
    "T5": "tcgen05 tmem umma ctagroup sm100 sm103 blackwell clc",
    "T4": "sm120 mxf4 mxf8",
    "T3b": "wgmma warpgroup sm90 hopper",
    "T3a": "mbarrier tma cluster bulk",
}
"""Words in names of instructions that no public example uses, which tell the first machine that has them."""


def _tier_by_spelling(name: str) -> str | None:
    """By the name itself before the module that has it: `nvvm` has the instructions of every machine."""
    last = name.rpartition(".")[2].lower()
    return next((tier for tier, words in _SPELLINGS.items() if any(word in last for word in words.split())), None)


@cache
def _by_last_word() -> dict[str, str]:
    """The first tier of each name without its module: modules share names, `cutlass.cutlass_dsl.Int32`."""
    return {name.rpartition(".")[2]: tier for name, tier in reversed(public_names().items())}


def when(name: str, tier: str) -> str:
    """When a public name of a tier that is not here yet comes."""
    apart = (text for start, text in _APART.items() if name == start or name.startswith(f"{start}."))
    return next(apart, TIERS[tier].when)


ROOT = "cutlass"

HOMES = {
    "cutlass": "triptych",
    "cutlass._mlir": "triptych.compat.mlir_builders",
    "cutlass._mlir._mlir_libs": "triptych.compat.mlir_builders",
    "cutlass._mlir._mlir_libs._cutlass_ir": "triptych.compat.mlir_builders",
    "cutlass._mlir._mlir_libs._cutlass_ir._mlir": "triptych.compat.mlir_builders",
    "cutlass._mlir._mlir_libs._cutlass_ir._mlir.ir": "triptych.compat.mlir_builders.ir",
    "cutlass._mlir.dialects": "triptych.compat.mlir_builders.dialects",
    "cutlass._mlir.dialects.arith": "triptych.compat.mlir_builders.dialects.arith",
    "cutlass._mlir.dialects.builtin": "triptych.compat.mlir_builders.dialects.builtin",
    "cutlass._mlir.dialects.cute": "triptych.compat.mlir_builders.dialects.cute",
    "cutlass._mlir.dialects.cute_nvgpu": "triptych.compat.mlir_builders.dialects.cute_nvgpu",
    "cutlass._mlir.dialects.llvm": "triptych.compat.mlir_builders.dialects.llvm",
    "cutlass._mlir.dialects.math": "triptych.compat.mlir_builders.dialects.math",
    "cutlass._mlir.dialects.nvvm": "triptych.compat.mlir_builders.dialects.nvvm",
    "cutlass._mlir.dialects.vector": "triptych.compat.mlir_builders.dialects.vector",
    "cutlass._mlir.extras": "triptych.compat.mlir_builders",
    "cutlass._mlir.extras.types": "triptych.compat.mlir_builders.types",
    "cutlass._mlir.ir": "triptych.compat.mlir_builders.ir",
    "cutlass._mlir_helpers.arith": "triptych.compat.mlir_builders.bit_casts",
    "cutlass.base_dsl": "triptych.compat.base_dsl",
    "cutlass.base_dsl.arch": "triptych.cute.arch.architectures",
    "cutlass.base_dsl.ast_preprocessor": "triptych.prestage.preprocessing",
    "cutlass.base_dsl.dsl": "triptych.compat.base_dsl",
    "cutlass.base_dsl.enums": "triptych.cute.arch.architectures",
    "cutlass.base_dsl.runtime.cuda": "triptych.compat.cuda_checks",
    "cutlass.base_dsl.runtime.jit_arg_adapters": "triptych.compat.base_dsl",
    "cutlass.base_dsl.tvm_ffi_builder": "triptych.compat.base_dsl.tvm_ffi_specs",
    "cutlass.base_dsl.typing": "triptych.compat.base_dsl.typing",
    "cutlass.cuda": "triptych.cuda",
    "cutlass.cute": "triptych.cute",
    "cutlass.cute._tvm_ffi_args_spec_converter": "triptych.compat.base_dsl.tvm_ffi_specs",
    "cutlass.cute.arch": "triptych.cute.arch",
    "cutlass.cute.arch.nvvm_wrappers": "triptych.cute.arch",
    "cutlass.cute.arch.smem": "triptych.cute.arch",
    "cutlass.cute.atom": "triptych.cute",
    "cutlass.cute.core": "triptych.cute",
    "cutlass.cute.experimental.iket": "triptych.compat.utils.iket",
    "cutlass.cute.math": "triptych.cute.math",
    "cutlass._mlir_helpers.math": "triptych.cute.math",
    "cutlass.cute.nvgpu": "triptych.cute.nvgpu",
    "cutlass.cute.nvgpu.common": "triptych.cute.nvgpu",
    "cutlass.cute.nvgpu.cpasync": "triptych.cute.nvgpu.cpasync",
    "cutlass.cute.nvgpu.cpasync.copy": "triptych.cute.nvgpu.cpasync",
    "cutlass.cute.nvgpu.cpasync.helpers": "triptych.cute.nvgpu.cpasync",
    "cutlass.cute.nvgpu.warp": "triptych.cute.nvgpu.warp",
    "cutlass.cute.nvgpu.warp.mma": "triptych.cute.nvgpu.warp",
    "cutlass.cute.nvgpu.tcgen05": "triptych.cute.nvgpu.tcgen05",
    "cutlass.cute.nvgpu.tcgen05.mma": "triptych.cute.nvgpu.tcgen05",
    "cutlass.cute.nvgpu.warpgroup": "triptych.cute.nvgpu.warpgroup",
    "cutlass.cute.runtime": "triptych.cute.runtime",
    "cutlass.cute.tensor": "triptych.cute",
    "cutlass.cute.testing": "triptych.cute.testing",
    "cutlass.cute.typing": "triptych.cute.typing",
    "cutlass.cutlass_dsl": "triptych.cutlass_dsl",
    "cutlass.experimental.primitives": "triptych.compat.primitives",
    "cutlass.jax": "triptych.jax",
    "cutlass.pipeline": "triptych.pipeline",
    "cutlass.pipeline.helpers": "triptych.pipeline",
    "cutlass.pipeline.sm90": "triptych.pipeline",
    "cutlass.testing": "triptych.testing",
    "cutlass.torch": "triptych.torch",
    "cutlass.utils": "triptych.utils",
    "cutlass.utils.blackwell_helpers": "triptych.utils.blackwell_helpers",
    "cutlass.utils.blockscaled_layout": "triptych.utils.blockscaled_layout",
    "cutlass.utils.distributed": "triptych.compat.utils.distributed",
    "cutlass.utils.dynamic_persistent_tile_scheduler": "triptych.utils",
    "cutlass.utils.gemm": "triptych.utils.gemm",
    "cutlass.utils.gemm.sm100": "triptych.utils.gemm.sm100",
    "cutlass.utils.hardware_info": "triptych.utils",
    "cutlass.utils.hopper_helpers": "triptych.utils.hopper_helpers",
    "cutlass.utils.layout": "triptych.utils",
    "cutlass.utils.mixed_input_helpers": "triptych.utils.mixed_input_helpers",
    "cutlass.utils.sm100": "triptych.utils.blackwell_helpers",
    "cutlass.utils.sm90": "triptych.utils.hopper_helpers",
    "cutlass.utils.smem_allocator": "triptych.utils",
    "cutlass.utils.static_persistent_tile_scheduler": "triptych.utils",
    "cutlass.utils.tensor_helpers": "triptych.utils.tensor_helpers",
    "cutlass.utils.tensormap_manager": "triptych.utils",
}

NOT_HERE_YET = frozenset(
    {
        "cutlass._mlir_helpers",
        "cutlass.base_dsl.runtime",
        "cutlass.cute.experimental",
        "cutlass.experimental",
        "cutlass.utils.rubin_helpers",
    }
)

BESIDE = {
    "cutlass.cute.experimental": "experimental",
    "cutlass.experimental": "experimental",
    "cutlass.utils.rubin_helpers": "experimental",
}
"""Packages beside the language, with all that is in them, and their tiers: programs import them only where they are."""

WITH_LIBRARIES = frozenset({"cutlass.jax", "cutlass.torch"})
"""Modules that import the library of their name, which need not be installed."""

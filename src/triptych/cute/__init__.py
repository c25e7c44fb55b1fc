"""The kernel language: layouts whose integers are run-time values, tensors over them, and what kernels do with them.

Public names load on first use. A name is added with one word in `_NAMES`; `pytest tests/contracts --update-golden` then
writes the stub that type checkers read.
"""

from __future__ import annotations

from triptych.support.lazy_names import LazyNames

_NAMES = LazyNames(
    __name__,
    {
        "triptych.cute.memory.address_spaces": "AddressSpace",
        "triptych.cute.copies.atoms": "CopyAtom CopyLayouts CopyOp=CopyOperation CopyOperation make_copy_atom",
        "triptych.cute.copies.dispatch": "autovec_copy basic_copy basic_copy_if copy copy_atom_call prefetch",
        "triptych.cute.tensors.layout_queries": """
            assume ceil_div cosize crd2idx depth elem_less idx2crd increment_coord is_congruent is_static
            is_weakly_congruent leading_dim make_layout_image_mask product product_each product_like rank
            round_up shape shape_div size size_in_bytes stride
        """,
        "triptych.cute.mathematics.functions": """
            acos asin atan atan2 cos erf exp exp2 log log10 log2 rsqrt sin sqrt tan tanh
        """,
        "triptych.cute.mma.gemm": "gemm mma_atom_call",
        "triptych.cute.mma.atoms": "MmaAtom MmaOp=MmaOperation MmaOperation make_mma_atom",
        "triptych.frontends.ptx.lowerings": "register_ptx_meaning",
        "triptych.cute.memory.pointers": "Pointer make_ptr recast_ptr",
        "triptych.cute.tensors.printing": "print_tensor printf",
        "triptych.cute.tensors.program_integers": "Coord Int IntTuple Shape Stride Tile",
        "triptych.cute.runtime.fake_tensors": "sym_int sym_int32 sym_int64",
        "triptych.cute.tensors.shared_memory": "SmemAllocator",
        "triptych.cute.tensors.structs": "struct",
        "triptych.cute.tensors.factories": """
            make_fragment=make_rmem_tensor make_fragment_like make_identity_tensor make_rmem_tensor
            make_rmem_tensor_like make_tensor recast_tensor
        """,
        "triptych.cute.tensors.value": "TensorSSA",
        "triptych.cute.tensors.value_functions": """
            all_ any_ empty_like full full_like ones_like where zeros_like
        """,
        "triptych.cute.tensors.reduction": "ReductionKind=ReductionOp ReductionOp",
        "triptych.cute.tensors.views": """
            append append_ones blocked_product coalesce complement composition dice domain_offset filter
            filter_zeros flat_divide flat_product flatten flatten_to_tuple get group_modes local_partition
            local_tile logical_divide logical_product make_composed_layout make_identity_layout make_layout
            make_ordered_layout prepend prepend_ones raked_product repeat_like select slice_
            slice_and_offset tile_to_shape tiled_divide tiled_product zipped_divide zipped_product
        """,
        "triptych.cute.tensors.tensor": "Tensor _Tensor=Tensor",
        "triptych.cute.copies.tiled": """
            ThrCopy TiledCopy make_cotiled_copy make_tiled_copy make_tiled_copy_A make_tiled_copy_B
            make_tiled_copy_C make_tiled_copy_C_atom make_tiled_copy_D make_tiled_copy_S make_tiled_copy_tv
        """,
        "triptych.cute.mma.tiled": "ThrMma TiledMma make_tiled_mma",
        "triptych.cute.dynamic.divisors": "FastDivmodDivisor fast_divmod_create_divisor",
        "triptych.cute.dynamic.traced_integers": "checked_layouts realize traced_int trusted_int",
        "triptych.driver.compile_calls": "compile",
        "triptych.driver.jitting": "jit kernel",
        "triptych.layout": """
            ComposedLayout _ComposedLayout=ComposedLayout E Layout Swizzle SymInt left_inverse
            make_layout_like make_layout_tv make_swizzle max_common_layout max_common_vector nullspace
            recast_layout repeat right_inverse transform_leaf tuple_add tuple_mul tuple_sub
        """,
        "triptych.metastage.values.scalars": """
            BFloat16 Boolean Float Float16 Float32 Float4E2M1FN Float64 Float6E2M3FN Float6E3M2FN
            Float8E4M3 Float8E4M3B11FNUZ Float8E4M3FN Float8E4M3FNUZ Float8E5M2 Float8E5M2FNUZ
            Float8E8M0FNU Int128 Int16 Int32 Int4 Int64 Int8 Integer Numeric TFloat32 Uint128 Uint16 Uint32 Uint64 Uint8
        """,
        "triptych.objectstage.compile_flags": """
            AsyncOrder Contract EnableAssertions EnableTVMFFI GPUArch GenerateLineInfo KeepCUBIN KeepPTX OptLevel
            PtxasOptions
        """,
    },
    modules=("amdgpu", "arch", "math", "nvgpu", "runtime", "testing", "typing", "utils"),
)

__getattr__ = _NAMES.load
__all__ = sorted(name for name in (*_NAMES.homes, *_NAMES.modules) if not name.startswith("_"))  # noqa: PLE0605 - a list, although not written out


def __dir__() -> list[str]:
    return list(__all__)

"""Module aliases: the module of Triptych behind each module of public CuTe DSL programs, in one table.

Several public names may be one module here. A module of which nothing is here yet stands in the table without a home:
it can be imported, so that a program that never uses it runs, and each of its names is an error that tells the tier.
A module that is in neither table cannot be imported.
"""

from __future__ import annotations

ROOT = "cutlass"

HOMES = {
    "cutlass": "triptych",
    "cutlass._mlir": "triptych.compat.mlir_builders",
    "cutlass._mlir._mlir_libs": "triptych.compat.mlir_builders",
    "cutlass._mlir._mlir_libs._cutlass_ir": "triptych.compat.mlir_builders",
    "cutlass._mlir._mlir_libs._cutlass_ir._mlir": "triptych.compat.mlir_builders",
    "cutlass._mlir._mlir_libs._cutlass_ir._mlir.ir": "triptych.compat.mlir_builders.ir",
    "cutlass._mlir.dialects": "triptych.compat.mlir_builders.dialects",
    "cutlass._mlir.dialects.llvm": "triptych.compat.mlir_builders.dialects.llvm",
    "cutlass._mlir.dialects.math": "triptych.compat.mlir_builders.dialects.math",
    "cutlass._mlir.dialects.nvvm": "triptych.compat.mlir_builders.dialects.nvvm",
    "cutlass._mlir.dialects.vector": "triptych.compat.mlir_builders.dialects.vector",
    "cutlass._mlir.ir": "triptych.compat.mlir_builders.ir",
    "cutlass.base_dsl.runtime.cuda": "triptych.compat.cuda_checks",
    "cutlass.base_dsl.typing": "triptych.cute.typing",
    "cutlass.cuda": "triptych.cuda",
    "cutlass.cute": "triptych.cute",
    "cutlass.cute.arch": "triptych.cute.arch",
    "cutlass.cute.arch.nvvm_wrappers": "triptych.cute.arch",
    "cutlass.cute.arch.smem": "triptych.cute.arch",
    "cutlass.cute.core": "triptych.cute",
    "cutlass.cute.math": "triptych.cute.math",
    "cutlass.cute.nvgpu": "triptych.cute.nvgpu",
    "cutlass.cute.nvgpu.common": "triptych.cute.nvgpu",
    "cutlass.cute.nvgpu.cpasync": "triptych.cute.nvgpu.cpasync",
    "cutlass.cute.nvgpu.warp": "triptych.cute.nvgpu.warp",
    "cutlass.cute.nvgpu.warp.mma": "triptych.cute.nvgpu.warp",
    "cutlass.cute.nvgpu.warpgroup": "triptych.cute.nvgpu.warpgroup",
    "cutlass.cute.runtime": "triptych.cute.runtime",
    "cutlass.cute.tensor": "triptych.cute",
    "cutlass.cute.testing": "triptych.cute.testing",
    "cutlass.cute.typing": "triptych.cute.typing",
    "cutlass.cutlass_dsl": "triptych.cutlass_dsl",
    "cutlass.pipeline": "triptych.pipeline",
    "cutlass.testing": "triptych.testing",
    "cutlass.torch": "triptych.torch",
    "cutlass.utils": "triptych.utils",
    "cutlass.utils.blackwell_helpers": "triptych.compat.utils.blackwell_helpers",
    "cutlass.utils.distributed": "triptych.compat.utils.distributed",
    "cutlass.utils.hardware_info": "triptych.utils",
    "cutlass.utils.hopper_helpers": "triptych.utils.hopper_helpers",
    "cutlass.utils.layout": "triptych.utils",
    "cutlass.utils.sm100": "triptych.compat.utils.blackwell_helpers",
    "cutlass.utils.sm90": "triptych.utils.hopper_helpers",
    "cutlass.utils.static_persistent_tile_scheduler": "triptych.utils",
    "cutlass.utils.tensor_helpers": "triptych.utils.tensor_helpers",
}

NOT_HERE_YET = frozenset(
    {
        "cutlass._mlir.dialects.cute",
        "cutlass._mlir.dialects.cute_nvgpu",
        "cutlass.base_dsl",
        "cutlass.base_dsl.arch",
        "cutlass.base_dsl.runtime",
        "cutlass.cute.nvgpu.tcgen05",
        "cutlass.utils.blockscaled_layout",
        "cutlass.utils.gemm",
        "cutlass.utils.gemm.sm100",
        "cutlass.utils.mixed_input_helpers",
    }
)

BESIDE = {"cutlass.cute.experimental": "experimental", "cutlass.experimental": "experimental", "cutlass.jax": "T0"}
"""Packages beside the language, with all that is in them, and their tiers: programs import them only where they are."""

LATE = frozenset({"cutlass.torch"})
"""Not loaded with `cutlass`, because they load libraries that not every program uses."""

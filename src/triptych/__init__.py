"""Triptych: ordinary Python turned into native code in three stages (pre-stage, meta-stage, object-stage).

Public names load on first use, so `import triptych` costs no MLIR, no LLVM, no NumPy. A name is added with one word in
`_NAMES`; `pytest tests/contracts --update-golden` then writes the stub that type checkers read.
The files behind `jit` and `compile` are called `jitting` and `compiling`: a submodule named like a public name would
replace that name on this package as soon as it is imported.
"""

from __future__ import annotations

from triptych.support.lazy_names import LazyNames

__version__ = "0.1.0"

_NAMES = LazyNames(
    __name__,
    {
        "triptych.compat.cuda_versions": "CUDA_VERSION target_version",
        "triptych.cute.memory.address_spaces": "AddressSpace",
        "triptych.cute.mathematics.arithmetic": "max=max_of min=min_of",
        "triptych.cute.memory.pointers": "Pointer",
        "triptych.cute.tensors.value_functions": "select_=where",
        "triptych.cute.runtime.fake_tensors": "example",
        "triptych.driver.compile_many": "Compilation compile_many",
        "triptych.cutlass_dsl": "dsl_user_op extract_mlir_values for_generate new_from_mlir_values yield_out",
        "triptych.dsl": "DSL",
        "triptych.layout": "Layout",
        "triptych.driver.compile_calls": "compile",
        "triptych.driver.jitting": "JitFunction jit kernel",
        "triptych.metastage.arguments.specs": "register_jit_arg_adapter",
        "triptych.metastage.values.binding_time": """
            Constexpr const_expr dynamic_expr range=Range range_constexpr range_dynamic=Range
        """,
        "triptych.metastage.calls.printing": "printf",
        "triptych.metastage.values.scalars": """
            BFloat16 Boolean Float Float16 Float32 Float64 Float4E2M1FN Float6E2M3FN Float6E3M2FN Float8E4M3
            Float8E4M3B11FNUZ Float8E4M3FN Float8E4M3FNUZ Float8E5M2 Float8E5M2FNUZ Float8E8M0FNU Int128 Int16 Int32
            Int4 Int64 Int8 Integer Numeric TFloat32 Uint128 Uint16 Uint32 Uint64 Uint8 dtype=dtype_named
        """,
        "triptych.metastage.calls.opaque_calls": "at_trace_time trace_time",
        "triptych.support.errors": "TriptychError",
        "triptych.diagnostics.kernel_errors": "DSLCudaRuntimeError",
    },
    modules=("cuda", "cute", "cutlass_dsl", "jax", "layout", "pipeline", "testing", "torch", "utils"),
)

__getattr__ = _NAMES.load
__all__ = ["__version__", *sorted(_NAMES.homes)]  # noqa: PLE0604 - names, although not written out


def __dir__() -> list[str]:
    return [*__all__, *_NAMES.modules]

"""Written by `pytest tests/contracts --update-golden`, from the tables of the module beside it."""

from typing import Any

from triptych import cuda as cuda
from triptych import cute as cute
from triptych import cutlass_dsl as cutlass_dsl
from triptych import jax as jax
from triptych import layout as layout
from triptych import pipeline as pipeline
from triptych import testing as testing
from triptych import torch as torch
from triptych import utils as utils
from triptych.cute.memory.address_spaces import AddressSpace as AddressSpace
from triptych.metastage.values.scalars import BFloat16 as BFloat16
from triptych.metastage.values.scalars import Boolean as Boolean
from triptych.compat.cuda_versions import CUDA_VERSION as CUDA_VERSION
from triptych.driver.compile_many import Compilation as Compilation
from triptych.metastage.values.binding_time import Constexpr as Constexpr
from triptych.dsl import DSL as DSL
from triptych.diagnostics.kernel_errors import DSLCudaRuntimeError as DSLCudaRuntimeError
from triptych.metastage.values.scalars import Float as Float
from triptych.metastage.values.scalars import Float4E2M1FN as Float4E2M1FN
from triptych.metastage.values.scalars import Float6E2M3FN as Float6E2M3FN
from triptych.metastage.values.scalars import Float6E3M2FN as Float6E3M2FN
from triptych.metastage.values.scalars import Float8E4M3 as Float8E4M3
from triptych.metastage.values.scalars import Float8E4M3B11FNUZ as Float8E4M3B11FNUZ
from triptych.metastage.values.scalars import Float8E4M3FN as Float8E4M3FN
from triptych.metastage.values.scalars import Float8E4M3FNUZ as Float8E4M3FNUZ
from triptych.metastage.values.scalars import Float8E5M2 as Float8E5M2
from triptych.metastage.values.scalars import Float8E5M2FNUZ as Float8E5M2FNUZ
from triptych.metastage.values.scalars import Float8E8M0FNU as Float8E8M0FNU
from triptych.metastage.values.scalars import Float16 as Float16
from triptych.metastage.values.scalars import Float32 as Float32
from triptych.metastage.values.scalars import Float64 as Float64
from triptych.metastage.values.scalars import Int4 as Int4
from triptych.metastage.values.scalars import Int8 as Int8
from triptych.metastage.values.scalars import Int16 as Int16
from triptych.metastage.values.scalars import Int32 as Int32
from triptych.metastage.values.scalars import Int64 as Int64
from triptych.metastage.values.scalars import Int128 as Int128
from triptych.metastage.values.scalars import Integer as Integer
from triptych.driver.jitting import JitFunction as JitFunction
from triptych.layout import Layout as Layout
from triptych.metastage.values.scalars import Numeric as Numeric
from triptych.cute.memory.pointers import Pointer as Pointer
from triptych.metastage.values.scalars import TFloat32 as TFloat32
from triptych.support.errors import TriptychError as TriptychError
from triptych.metastage.values.scalars import Uint8 as Uint8
from triptych.metastage.values.scalars import Uint16 as Uint16
from triptych.metastage.values.scalars import Uint32 as Uint32
from triptych.metastage.values.scalars import Uint64 as Uint64
from triptych.metastage.values.scalars import Uint128 as Uint128
from triptych.metastage.calls.opaque_calls import at_trace_time as at_trace_time
from triptych.driver.compile_calls import compile as compile
from triptych.driver.compile_many import compile_many as compile_many
from triptych.metastage.values.binding_time import const_expr as const_expr
from triptych.cutlass_dsl import dsl_user_op as dsl_user_op
from triptych.metastage.values.scalars import dtype_named as dtype
from triptych.metastage.values.binding_time import dynamic_expr as dynamic_expr
from triptych.cute.runtime.fake_tensors import example as example
from triptych.cutlass_dsl import extract_mlir_values as extract_mlir_values
from triptych.cutlass_dsl import for_generate as for_generate
from triptych.driver.jitting import jit as jit
from triptych.driver.jitting import kernel as kernel
from triptych.cute.mathematics.arithmetic import max_of as max
from triptych.cute.mathematics.arithmetic import min_of as min
from triptych.cutlass_dsl import new_from_mlir_values as new_from_mlir_values
from triptych.metastage.calls.printing import printf as printf
from triptych.metastage.values.binding_time import Range as range
from triptych.metastage.values.binding_time import range_constexpr as range_constexpr
from triptych.metastage.values.binding_time import Range as range_dynamic
from triptych.metastage.arguments.specs import register_jit_arg_adapter as register_jit_arg_adapter
from triptych.cute.tensors.value_functions import where as select_
from triptych.compat.cuda_versions import target_version as target_version
from triptych.metastage.calls.opaque_calls import trace_time as trace_time
from triptych.cutlass_dsl import yield_out as yield_out


__version__: str

__all__ = [
    "AddressSpace",
    "BFloat16",
    "Boolean",
    "CUDA_VERSION",
    "Compilation",
    "Constexpr",
    "DSL",
    "DSLCudaRuntimeError",
    "Float",
    "Float4E2M1FN",
    "Float6E2M3FN",
    "Float6E3M2FN",
    "Float8E4M3",
    "Float8E4M3B11FNUZ",
    "Float8E4M3FN",
    "Float8E4M3FNUZ",
    "Float8E5M2",
    "Float8E5M2FNUZ",
    "Float8E8M0FNU",
    "Float16",
    "Float32",
    "Float64",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Integer",
    "JitFunction",
    "Layout",
    "Numeric",
    "Pointer",
    "TFloat32",
    "TriptychError",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Uint128",
    "__version__",
    "at_trace_time",
    "compile",
    "compile_many",
    "const_expr",
    "dsl_user_op",
    "dtype",
    "dynamic_expr",
    "example",
    "extract_mlir_values",
    "for_generate",
    "jit",
    "kernel",
    "max",
    "min",
    "new_from_mlir_values",
    "printf",
    "range",
    "range_constexpr",
    "range_dynamic",
    "register_jit_arg_adapter",
    "select_",
    "target_version",
    "trace_time",
    "yield_out",
]

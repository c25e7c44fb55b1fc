"""`check-signature`, `write-entry`: what may cross between Python and compiled code, and who checks it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import checked, parsed
from triptych.ir.errors import LoweringError
from triptych.ir.modules import Signature, attach_signature
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.targets.cpu.calling.entry import check_signature, write_entry

TENSOR = Leaf("t", "Float32", Memory(1, 16, ("n",), ("1",), (SymbolicExtent("n", 32),)))


def signed(parameters: tuple[Leaf, ...], results: tuple[Leaf, ...] = ()) -> Any:
    module = parsed("func.func @f() { return }")
    attach_signature(module, Signature("f", parameters, results))
    return module


@pytest.mark.parametrize(
    "dtype",
    [
        *("Boolean", "Int4", "Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64"),
        *("Float16", "BFloat16", "Float32", "Float64", "Float8E4M3FN", "Float4E2M1FN", "TFloat32"),
    ],
)
def test_scalars_that_cross(dtype: str) -> None:
    check_signature(signed((Leaf("a", dtype),), (Leaf("result", dtype),)))


def test_types_that_do_not_cross() -> None:
    with pytest.raises(LoweringError, match="parameter 'a' has type Int128, which cannot pass"):
        check_signature(signed((TENSOR, Leaf("a", "Int128"))))
    with pytest.raises(LoweringError, match="result 'result' has type Uint128, which cannot pass"):
        check_signature(signed((), (Leaf("result", "Uint128"),)))
    with pytest.raises(LoweringError, match="tensor 't' has elements of type Int128, which no tensor from outside has"):
        check_signature(signed((Leaf("t", "Int128", TENSOR.memory),)))
    check_signature(signed((TENSOR,)))


def entry(parameters: tuple[Leaf, ...], results: tuple[Leaf, ...] = ()) -> Any:
    def run(module: Any) -> None:
        attach_signature(module, Signature("f", parameters, results))
        write_entry(module)

    return run


NOTHING = """
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @helper() { llvm.return }
llvm.func @f() -> i32 { %0 = llvm.mlir.constant(0 : i32) : i32 llvm.return %0 : i32 }
"""


def test_everything_else_becomes_internal() -> None:
    checked(
        NOTHING,
        entry(()),
        """
        # CHECK-NOT: triptych.signature
        # CHECK: llvm.func @malloc(i64) -> !llvm.ptr
        # CHECK: llvm.func internal @helper()
        # CHECK: llvm.func internal @f.body() -> i32
        # CHECK: llvm.func @__tvm_ffi_f(
        # CHECK-NOT: llvm.func @f(
        """,
    )


def test_the_entry_of_a_function_without_arguments() -> None:
    checked(
        NOTHING,
        entry(()),
        """
        # CHECK: @triptych.name("f\\00")
        # CHECK: llvm.func @__tvm_ffi_f(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i32, %arg3: !llvm.ptr) -> i32
        # CHECK: %0 = llvm.mlir.constant(0 : i32)
        # CHECK: %1 = llvm.mlir.constant(-2 : i32)
        # CHECK: %2 = llvm.mlir.constant(0 : i32)
        # CHECK: llvm.icmp "eq" %arg2, %2
        # CHECK: llvm.cond_br %{{\\w+}} weights({{.*}}), ^bb{{\\d}}, ^bb1
        # CHECK: ^bb1:
        # CHECK: llvm.mlir.addressof @triptych.name
        # CHECK: llvm.call @triptych.raise
        # CHECK: llvm.return %1
        # CHECK: llvm.call @f.body() : () -> i32
        # CHECK: llvm.icmp "eq" %{{\\w+}}, %0
        # CHECK-NOT: @triptych.signature
        """,
    )


def test_scalars_are_named_by_path_and_type() -> None:
    checked(
        "llvm.func @f(%a: i32, %b: f32) -> !llvm.struct<(i32, i32)> { %0 = llvm.mlir.poison : !llvm.struct<(i32, i32)>"
        " llvm.return %0 : !llvm.struct<(i32, i32)> }",
        entry((Leaf("p.x", "Int32"), Leaf("y", "Float32")), (Leaf("result", "Int32"),)),
        """
        # CHECK: @triptych.name("f\\00")
        # CHECK: @triptych.path0("p.x\\00")
        # CHECK: @triptych.dtype.Int32("Int32\\00")
        # CHECK: @triptych.path1("y\\00")
        # CHECK: @triptych.dtype.Float32("Float32\\00")
        # CHECK: llvm.func @__tvm_ffi_f
        # CHECK: llvm.mlir.constant(2 : i32)
        # CHECK: llvm.bitcast %{{\\w+}} : i32 to i32
        # CHECK-NEXT: llvm.bitcast %{{\\w+}} : f32 to f32
        # CHECK-NEXT: llvm.call @f.body(%{{\\w+}}, %{{\\w+}}) : (i32, f32) -> !llvm.struct<(i32, i32)>
        # CHECK-NEXT: llvm.extractvalue %{{\\w+}}[0]
        # CHECK-NEXT: llvm.extractvalue %{{\\w+}}[1]
        """,
    )


def test_tensors_are_pointers_and_numbers() -> None:
    checked(
        "llvm.func @f(%p: !llvm.ptr<1>, %n: i32) -> i32 {"
        " %0 = llvm.mlir.constant(0 : i32) : i32 llvm.return %0 : i32 }",
        entry((TENSOR,)),
        """
        # CHECK: @triptych.signature(
        # CHECK: llvm.func @__tvm_ffi_f
        # CHECK: llvm.ptrtoint %arg0 : !llvm.ptr to i64
        # CHECK-NEXT: llvm.mlir.constant(1 : i64)
        # CHECK-NEXT: llvm.icmp "eq"
        # CHECK: llvm.mlir.addressof @triptych.signature
        # CHECK: llvm.mlir.constant(1 : i32)
        # CHECK-NEXT: llvm.return
        # CHECK: llvm.addrspacecast %{{\\w+}} : !llvm.ptr to !llvm.ptr<1>
        # CHECK-NEXT: llvm.trunc %{{\\w+}} : i64 to i32
        # CHECK-NEXT: llvm.call @f.body(%{{\\w+}}, %{{\\w+}}) : (!llvm.ptr<1>, i32) -> i32
        """,
    )
    wide = Leaf("t", "Float32", Memory(0, 16, ("n",), ("1",), (SymbolicExtent("n", 64),)))
    checked(
        "llvm.func @f(%p: !llvm.ptr, %n: i64) -> i32 { %0 = llvm.mlir.constant(0 : i32) : i32 llvm.return %0 : i32 }",
        entry((wide,)),
        "# CHECK: llvm.bitcast %{{\\w+}} : !llvm.ptr to !llvm.ptr\n# CHECK-NEXT: llvm.bitcast %{{\\w+}} : i64 to i64",
    )

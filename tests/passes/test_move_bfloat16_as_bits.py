"""`move-bfloat16-as-bits`: kernels move integers; float operations, and what the host gives, keep the type."""

from __future__ import annotations

from tests.passes.running import checked, kernel
from triptych.kernel_ir.transforms.narrow_floats.bfloat16_bits import move_bfloat16_as_bits


def test_what_is_moved_is_an_integer_and_widens_by_a_shift() -> None:
    checked(
        kernel(
            """
            %x = llvm.load %p : !llvm.ptr -> vector<4xbf16>
            %y = vector.shuffle %x, %x [3, 2, 1, 0] : vector<4xbf16>, vector<4xbf16>
            %c = arith.constant dense<[1.0, 2.0, -0.0, 0x7FC0]> : vector<4xbf16>
            %s = arith.select %b, %y, %c : vector<4xbf16>
            %w = arith.extf %s : vector<4xbf16> to vector<4xf32>
            %e = vector.extract %s[0] : bf16 from vector<4xbf16>
            %d = arith.extf %e : bf16 to f64
            llvm.store %s, %p : vector<4xbf16>, !llvm.ptr
            """,
            "%p: !llvm.ptr, %b: i1",
        ),
        move_bfloat16_as_bits,
        """
        # CHECK: %0 = llvm.load %arg0 : !llvm.ptr -> vector<4xi16>
        # CHECK: vector.shuffle %0, %0 [3, 2, 1, 0] : vector<4xi16>, vector<4xi16>
        # CHECK: arith.constant dense<[16256, 16384, -32768, 32704]> : vector<4xi16>
        # CHECK: %2 = arith.select
        # CHECK: arith.extui %2 : vector<4xi16> to vector<4xi32>
        # CHECK: arith.shli
        # CHECK: arith.bitcast {{.*}} : vector<4xi32> to vector<4xf32>
        # CHECK: vector.extract %2[0] : i16 from vector<4xi16>
        # CHECK: arith.extf {{.*}} : f32 to f64
        # CHECK: llvm.store %2, %arg0 : vector<4xi16>, !llvm.ptr
        """,
    )


def test_loops_carry_integers() -> None:
    checked(
        kernel(
            """
            %zero = arith.constant 0 : index
            %one = arith.constant 1 : index
            %nine = arith.constant 9 : index
            %start = arith.constant 1.5 : bf16
            %r = scf.for %i = %zero to %nine step %one iter_args(%last = %start) -> (bf16) {
              llvm.store %last, %p : bf16, !llvm.ptr
              %next = llvm.load %p : !llvm.ptr -> bf16
              scf.yield %next : bf16
            }
            llvm.store %r, %p : bf16, !llvm.ptr
            """,
            "%p: !llvm.ptr",
        ),
        move_bfloat16_as_bits,
        """
        # CHECK: arith.constant 16320 : i16
        # CHECK: iter_args({{.*}}) -> (i16)
        # CHECK-NOT: bf16
        """,
    )


def test_atomics_and_arguments_stay_floats() -> None:
    checked(
        kernel(
            """
            %old = llvm.atomicrmw fadd %p, %given monotonic : !llvm.ptr, bf16
            llvm.store %old, %p : bf16, !llvm.ptr
            """,
            "%p: !llvm.ptr, %given: bf16",
        ),
        move_bfloat16_as_bits,
        """
        # CHECK: gpu.func @k(%arg0: !llvm.ptr, %arg1: bf16)
        # CHECK: %0 = arith.bitcast %arg1 : bf16 to i16
        # CHECK: %1 = arith.bitcast %0 : i16 to bf16
        # CHECK: %2 = llvm.atomicrmw fadd %arg0, %1
        # CHECK: %3 = arith.bitcast %2 : bf16 to i16
        # CHECK: llvm.store %3, %arg0 : i16
        """,
    )

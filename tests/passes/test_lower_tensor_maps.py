"""`lower-tensor-maps`: base, extents and strides are stored in 128 bytes of the host's stack."""

from __future__ import annotations

from tests.passes.running import checked
from triptych.targets.cpu.passes.lower_tensor_maps import lower_tensor_maps

PROGRAM = """
module {
  func.func private @use(!llvm.ptr)
  func.func @host(%base: !llvm.ptr<1>, %m: i64, %n: i64, %step: i64, %often: index) {
    %begin = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %begin to %often step %one {
      %map = "tile.tensor_map"(%base, %n, %m, %step) {type = "f16", box = array<i64: 64, 8>, swizzle = 3 : i64}
          : (!llvm.ptr<1>, i64, i64, i64) -> !llvm.ptr
      func.call @use(%map) : (!llvm.ptr) -> ()
    }
    func.return
  }
}
"""


def test_a_map_is_written_where_it_is_made() -> None:
    checked(
        PROGRAM,
        lower_tensor_maps,
        """
        # CHECK: func.func @host
        # CHECK: %0 = llvm.alloca %c1_i64 x !llvm.array<128 x i8> {alignment = 64 : i64}
        # CHECK: scf.for
        # CHECK: %cst = arith.constant dense<0> : vector<32xi32>
        # CHECK-NEXT: llvm.store %cst, %0
        # CHECK-NEXT: llvm.store %arg0, %0
        # CHECK-NEXT: %1 = llvm.getelementptr %0[1]
        # CHECK-NEXT: llvm.store %arg2, %1
        # CHECK-NEXT: %2 = llvm.getelementptr %0[2]
        # CHECK-NEXT: llvm.store %arg1, %2
        # CHECK-NEXT: %3 = llvm.getelementptr %0[6]
        # CHECK-NEXT: llvm.store %arg3, %3
        # CHECK: %4 = llvm.getelementptr %0[10]
        # CHECK-NEXT: llvm.store %c524352_i64, %4
        # CHECK: call @use(%0)
        # CHECK-NOT: tile.
        """,
    )

"""Names of mbarriers: by their places in shared memory, as the operations that initialise them say."""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.modules import kernels
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.kernel_ir.dialects.smem_symbols import barrier_names

PROGRAM = """
gpu.module @m {
  gpu.func @k(%full: !llvm.ptr<3>, %other: !llvm.ptr<3>, %n: i32) kernel {
    "simt.mbarrier_init"(%full, %n) {offset = 16 : i64, storage = "storage.full[2]"} : (!llvm.ptr<3>, i32) -> ()
    "simt.mbarrier_init"(%other, %n) : (!llvm.ptr<3>, i32) -> ()
    gpu.return
  }
}
"""


def test_a_barrier_of_a_known_place_has_a_name() -> None:
    ir = bindings.mlir()
    context = ir.Context()
    for dialect in KERNEL_DIALECTS:
        dialect.load(context)
    module = ir.Module.parse(PROGRAM, context)
    [kernel] = kernels(module)
    assert barrier_names(kernel) == {16: "storage.full[2]"}

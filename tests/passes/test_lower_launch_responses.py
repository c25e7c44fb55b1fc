"""`lower-launch-responses` (`launch_control`): an answer of launch control is four words, read by loads."""

from __future__ import annotations

from triptych.ir import bindings
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.targets.cpu.emit.launch_control import lower_launch_responses

TEXT = """
gpu.module @m {
  gpu.func @k(%s: !llvm.ptr<3>, %p: !llvm.ptr<1>) kernel {
    %given, %x, %y, %z = "tile.clc_query"(%s) : (!llvm.ptr<3>) -> (i1, i32, i32, i32)
    llvm.store %y, %p : i32, !llvm.ptr<1>
    gpu.return
  }
}
"""


def test_words_are_loaded() -> None:
    context = bindings.mlir().Context()
    for dialect in KERNEL_DIALECTS:
        dialect.load(context)
    module = bindings.mlir().Module.parse(TEXT, context)
    lower_launch_responses(module)
    assert module.operation.verify()
    text = str(module)
    assert "clc_query" not in text
    assert text.count("llvm.load") == 4
    assert "arith.cmpi ne" in text

"""The CPU target's pass list: from traced MLIR to the LLVM dialect with an entry point for Python."""

from __future__ import annotations

from triptych.stages import PassSpec
from triptych.targets.cpu.entry import check_signature, write_entry
from triptych.targets.cpu.lower_assert import lower_assert
from triptych.targets.cpu.lower_print import lower_print

PIPELINE = (
    PassSpec("check-signature", "Refuse a type that cannot cross to Python before any work is done.", check_signature),
    PassSpec("lower-print", "Printing goes through Python's own standard output.", lower_print),
    PassSpec("arith-expand", "Floor and ceiling division have no LLVM instruction."),
    PassSpec("convert-scf-to-cf", "Checks that leave the function need a flat control-flow graph."),
    PassSpec("lower-assert", "A failed check returns a status that the entry point turns into an error.", lower_assert),
    PassSpec("convert-math-to-llvm", "LLVM's own intrinsics first: they vectorise and fold."),
    PassSpec("convert-math-to-libm", "What has no intrinsic calls the C mathematics library."),
    PassSpec("convert-to-llvm", "Everything that is left is one dialect away from LLVM."),
    PassSpec("write-entry", "Python calls one packed entry point that checks its arguments.", write_entry),
)

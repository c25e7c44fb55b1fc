"""Write analysis of arguments: read-only memory may be passed where a program never writes.

The pointer is followed through address arithmetic, also that of integers which become pointers again, tensor maps and
kernel launches. Whatever else happens to it counts as writing. The answer decides twice: read-only memory may go where
a program only reads, and autograd is told of the tensors that it writes; one that is taken for written without need
stops a backward pass that was right.
"""

from __future__ import annotations

from triptych.ir.handles import Module, Operation, Value
from triptych.ir.launch import LAUNCH, Launch
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects.kernel_operations import definition_of
from triptych.kernel_ir.dialects.tile import TENSOR_MAP
from triptych.support.forking import lazy

_READS = frozenset({"llvm.load", "llvm.intr.masked.load", "llvm.intr.masked.gather", "llvm.intr.prefetch"})
_DERIVES = frozenset({"llvm.getelementptr", "llvm.addrspacecast", "llvm.bitcast", "llvm.select", TENSOR_MAP})
_TO_INTEGER, _TO_POINTER, _COMPARES = "llvm.ptrtoint", "llvm.inttoptr", "arith.cmpi"


class WrittenMemory:
    """Answers for the pointers that the functions of one module receive."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def may_be_written(self, pointer: Value) -> bool:
        """Whether a store may go through the pointer."""
        pending, seen = [pointer], [pointer]
        while pending:
            for use in pending.pop().uses:
                user = use.owner.operation
                if _only_reads(user, use.operand_number):
                    continue
                if user.name == _TO_INTEGER and not self._makes_pointers:
                    continue
                derived = self._derived(user, use.operand_number)
                if derived is None:
                    return True
                if derived not in seen:
                    seen.append(derived)
                    pending.append(derived)
        return False

    def _derived(self, user: Operation, operand: int) -> Value | None:
        """The pointer that an operation makes of the one it is given; None when it does something else with it."""
        if user.name in _DERIVES or user.name in (_TO_INTEGER, _TO_POINTER) or user.name.startswith("arith."):
            return user.results[0]
        if user.name != LAUNCH:
            return None
        launch = Launch(user)
        kernel, place = self._kernels.get(launch.kernel), launch.argument_of_operand(operand)
        return None if kernel is None or place is None else kernel.regions[0].blocks[0].arguments[place]

    @lazy
    def _kernels(self) -> dict[str, Operation]:
        return {kernel.attributes["sym_name"].value: kernel for kernel in kernels(self._module)}

    @lazy
    def _makes_pointers(self) -> bool:
        """Whether an integer becomes a pointer anywhere: only then can one that a pointer became be written through."""
        return bool(self._all(_TO_POINTER))

    def _all(self, name: str) -> list[Operation]:
        return operations_named(self._module.operation, name)


def _only_reads(user: Operation, operand: int) -> bool:
    definition = definition_of(user)
    return user.name in _READS or user.name == _COMPARES if definition is None else operand in definition.read_only

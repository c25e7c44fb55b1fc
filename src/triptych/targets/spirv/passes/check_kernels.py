"""Passes `check-launches`, `check-kernels`, `check-progress`: refuse at the user's line what OpenCL cannot do.

A list of what OpenCL has is safer than one of what it lacks: an operation that is new is refused, not forgotten. Some
of what it has it promises less of than CUDA does, and there a program would get a wrong number, or none for ever.
"""

from __future__ import annotations

from triptych.ir.handles import Module, Operation, Value
from triptych.ir.launch import launches
from triptych.ir.location import place_of
from triptych.ir.modules import kernels, operations_named
from triptych.ir.types import GENERIC_SPACE, int_width, is_vector, memory_space
from triptych.kernel_ir.analysis.addresses import is_in_arrays
from triptych.kernel_ir.analysis.lanes import Level
from triptych.kernel_ir.analysis.spin_loops import counts, spins
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    constant_of,
    enclosing,
    known_block,
    operations,
    walk,
)
from triptych.kernel_ir.transforms.inline_async_copies import COPIES
from triptych.objectstage.device_errors import ArchitectureError
from triptych.targets.spirv import LANES
from triptych.targets.spirv.passes.expand_tile import EXPANDED
from triptych.targets.spirv.passes.lower_simt import LOWERED
from triptych.targets.spirv.passes.lower_threads import INDICES

_DIALECTS = ("arith.", "math.", "scf.", "vector.", "ub.", "builtin.")
_MEMORY = (
    *("llvm.load", "llvm.store", "llvm.atomicrmw", "llvm.cmpxchg", "llvm.fence", "llvm.alloca", "llvm.getelementptr"),
    *("llvm.ptrtoint", "llvm.inttoptr", "llvm.bitcast", "llvm.addrspacecast", "llvm.mlir.addressof"),
    *("llvm.mlir.constant", "llvm.mlir.zero", "llvm.mlir.undef", "llvm.mlir.poison", "llvm.extractvalue"),
    *("llvm.insertvalue", "llvm.call_intrinsic", "llvm.freeze"),
)
HAS = frozenset((*_MEMORY, *INDICES, *LOWERED, *COPIES, *EXPANDED, "gpu.return", "cf.assert", simt.DIVISOR))
WIDTHS = (None, 1, 8, 16, 32, 64)
_REASONS = {
    simt.BARRIER_ARRIVE: "OpenCL has one barrier for each work-group, at which every thread waits",
    "gpu.printf": "a kernel that prints nothing: OpenCL prints to a stream of its own",
    "llvm.inline_asm": "inline PTX is for NVIDIA's machines",
    simt.SET_REGISTERS: "OpenCL does not say which registers a thread has",
}
_BARRIERS = (simt.BARRIER, "gpu.barrier")


def check_launches(module: Module) -> None:
    """Refuse launches that OpenCL has not."""
    for launch in launches(module):
        if launch.cluster:
            raise _refusal(launch.operation, "a launch in clusters", "blocks of OpenCL know nothing of each other")
        if launch.cooperative:
            raise _refusal(
                launch.operation, "a cooperative launch", "OpenCL does not promise that all blocks run at one time"
            )


def check_kernels(module: Module) -> None:
    """Refuse the first operation of each kernel that OpenCL has not."""
    for kernel in kernels(module):
        for operation in walk(kernel):
            _check(operation)


def check_progress(module: Module) -> None:
    """Refuse loops and barriers at which threads wait for others that need not come; variables are values by now."""
    for kernel in kernels(module):
        for loop in operations_named(kernel, "scf.while"):
            if spins(loop) and not counts(loop):
                raise _refusal(
                    loop,
                    "a loop that waits for what another thread writes",
                    "OpenCL does not promise that other sub-groups go on meanwhile",
                )
        _check_barriers(kernel)


def _check(operation: Operation) -> None:
    name = operation.name
    if name not in HAS and not name.startswith(_DIALECTS):
        raise _refusal(operation, name, _REASONS.get(name, "what OpenCL has a built-in function for"))
    if name == simt.BARRIER and (len(operation.operands) > 1 or constant_of(operation.operands[0]) != 0):
        raise _refusal(operation, "a named barrier, or one of some threads", _REASONS[simt.BARRIER_ARRIVE])
    for value in (*operation.results, *operation.operands):
        element = value.type.element_type if is_vector(value.type) else value.type
        if int_width(element) not in WIDTHS:
            raise _refusal(operation, str(element), "OpenCL has integers of 8, 16, 32 and 64 bits")
        if memory_space(value.type) == GENERIC_SPACE and not is_in_arrays(value):
            raise _refusal(operation, "a pointer to any memory", "an address of OpenCL says which memory it is of")


def _check_barriers(kernel: Operation) -> None:
    """Every thread of a block comes to each barrier: what decides about it is one number for the block.

    What threads read at one address is one number, too: where another changes it meanwhile, CUDA promises nothing.
    """
    barriers = [operation for operation in walk(kernel) if operation.name in _BARRIERS]
    if not any(map(_conditions, barriers)):
        return
    arrays = frozenset(array.results[0] for array in operations_named(kernel, "llvm.alloca"))
    analysis = UniformityAnalysis(kernel, Shape(LANES, known_block(kernel)), by_element=arrays)
    for barrier in barriers:
        for value in _conditions(barrier):
            found = analysis.at(value)
            if not (found.uniform and found.level is Level.BLOCK):
                raise _refusal(
                    barrier,
                    "a barrier that some threads of a block may not come to",
                    "in OpenCL all threads come to it, also those that have ended in CUDA",
                    "the barrier outside of the branch or loop, which then holds the rest",
                )


def _conditions(operation: Operation) -> list[Value]:
    """What decides whether, and how often, a thread comes to an operation."""
    found: list[Value] = []
    around = enclosing(operation)
    while around.name != "gpu.func":
        if around.name == "scf.while":
            found.append(operations(body(around, 0))[-1].operands[0])
        else:
            found += list(around.operands)[: 1 if around.name == "scf.if" else 3]
        around = enclosing(around)
    return found


def _refusal(operation: Operation, found: str, expected: str, instead: str = "target='cpu'") -> ArchitectureError:
    return ArchitectureError(
        "OpenCL cannot do this", span=place_of(operation), found=found, expected=expected, instead=instead
    )

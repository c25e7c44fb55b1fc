"""Passes `check-chip`, `check-chip-launches`, `check-roles`: refuse, at the user's line, what a chip of AMD's lacks.

Input: launches and kernels as they were traced. What the machine has is a list, and everything else is refused: LLVM
would end its process for what it cannot select, and make calls of what it does not know. How much LDS a block may have,
the trace has asked the device model already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triptych.ir.handles import Module, Operation, Value
from triptych.ir.launch import Launch, launches
from triptych.ir.location import place_of
from triptych.ir.modules import kernels
from triptych.ir.types import element_type, is_float, type_text
from triptych.kernel_ir.analysis.lanes import Level
from triptych.kernel_ir.analysis.spin_loops import spins
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.kernel_attributes import device_of
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    constant_of,
    defining_op,
    has_body,
    is_described,
    known_block,
    traits,
    walk,
)
from triptych.kernel_ir.dialects.tile import MMA
from triptych.kernel_ir.dialects.wave_mma import WAVE_MMAS
from triptych.kernel_ir.transforms.mathematics.formulas import COMPUTED, FORMULAS
from triptych.objectstage.device_errors import ArchitectureError
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.amdgpu.description.chips import Chip
from triptych.targets.amdgpu.description.instructions import (
    DIALECTS,
    EXACT_MATH,
    OPERATIONS,
    may_call,
    why_missing,
)
from triptych.targets.amdgpu.description.matrix_instructions import problem, written

_BARRIERS = frozenset({"gpu.barrier", simt.BARRIER})
ROLES = frozenset({"scf.if"})
"""What lanes of a wave may answer differently."""
_STORES = frozenset({"llvm.store", "llvm.atomicrmw", "llvm.cmpxchg"})


def checking(chip: Chip) -> Callable[[Module], None]:
    """Pass `check-chip` for one chip."""

    def check_chip(module: Module) -> None:
        for kernel in kernels(module):
            for operation in walk(kernel):
                _check(chip, kernel, operation)

    return check_chip


def checking_roles(chip: Chip) -> Callable[[Module], None]:
    """Pass `check-roles` for one chip."""

    def check_roles(module: Module) -> None:
        for kernel in kernels(module):
            _check_roles(chip, kernel)

    return check_roles


def checking_launches(chip: Chip) -> Callable[[Module], None]:
    """Pass `check-chip-launches` for one chip."""

    def check_launches(module: Module) -> None:
        for launch in launches(module):
            _check_launch(chip, launch)

    return check_launches


def _check(chip: Chip, kernel: Operation, operation: Operation) -> None:
    name = operation.name
    if name == "llvm.call_intrinsic":
        called = operation.attributes["intrin"].value
        if not may_call(called, chip):
            raise _missing(chip, operation, "has no such instruction", "an operation of `cute.arch`", called)
    elif name.startswith("math."):
        _check_function(chip, operation)
    elif name == simt.BARRIER:
        _check_barrier(chip, kernel, operation)
    elif name == MMA and operation.attributes["instruction"].value in WAVE_MMAS:
        _check_product(chip, operation)
    elif name not in OPERATIONS and not name.startswith(DIALECTS):
        why, instead = why_missing(name)
        raise _missing(chip, operation, why, instead, name)


def _check_function(chip: Chip, operation: Operation) -> None:
    """Functions of numbers have a formula for 32 bits and less; those of 64 bits would need a library."""
    element = element_type(operation.results[0].type)
    text = type_text(element)
    narrow = text in COMPUTED or text in FLOAT_FORMATS
    if operation.name in EXACT_MATH or (operation.name in FORMULAS and narrow):
        return
    found = f"{operation.name.removeprefix('math.')} of {'Float64' if is_float(element, 64) else text}"
    raise _missing(chip, operation, "has no library of such functions", "Float32", found)


def _check_product(chip: Chip, operation: Operation) -> None:
    entry = WAVE_MMAS[operation.attributes["instruction"].value]
    found = problem(entry, chip)
    if found is not None:
        why, instead = found
        raise _missing(chip, operation, why, instead, written(entry))


def _check_barrier(chip: Chip, kernel: Operation, operation: Operation) -> None:
    """The one barrier of a block is that of all its threads, whatever number it is given."""
    if len(operation.operands) == 1:
        return
    block, asked = known_block(kernel), constant_of(operation.operands[1])
    threads = None if block is None else block[0] * block[1] * block[2]
    if asked is None or asked != threads:
        found = f"a barrier of {'some' if asked is None else asked} threads"
        raise _missing(
            chip,
            operation,
            "has one barrier for a block, at which all its threads wait",
            "`cute.arch.barrier()`",
            found,
        )


def _missing(chip: Chip, operation: Operation, why: str, instead: str, found: str) -> ArchitectureError:
    return ArchitectureError(f"{chip.name} {why}", span=place_of(operation), found=found, instead=instead)


# Roles of threads -----------------------------------------------------------------------------------------------------
def _check_roles(chip: Chip, kernel: Operation) -> None:
    """Lanes of a wave that go different ways take turns: those of one way cannot wait for those of the other."""
    branches = [branch for branch in walk(kernel) if branch.name == "scf.if" and _is_waiting(branch)]
    if not branches or not all(map(is_described, walk(kernel))):
        return
    arrays = frozenset(op.results[0] for op in walk(kernel) if op.name == "llvm.alloca")
    shape = Shape(chip.lanes, known_block(kernel), lockstep=True, lanes=chip.lanes)
    analysis = UniformityAnalysis(kernel, shape, by_element=arrays)
    halved = device_of(kernel).lanes < chip.lanes
    for branch in branches:
        condition = branch.operands[0]
        found = analysis.at(condition)
        of_warp = halved and found.level is not Level.BLOCK and _asks_a_warp(condition)
        if not found.uniform or of_warp:
            raise ArchitectureError(
                f"the lanes of a wave of {chip.name} cannot wait for each other, and this branch parts them",
                span=place_of(branch),
                found="a condition that lanes of one wave answer differently, with waits behind it",
                expected=f"roles of whole waves, {chip.lanes} threads each",
                instead="`cute.arch.warp_idx()`, which counts waves",
            )


def _asks_a_warp(condition: Value) -> bool:
    """Whether it depends on what the lanes of a warp have found out together, or may: the wave has another warp, which
    may have found out otherwise."""
    seen, pending = {condition}, [condition]
    while pending:
        maker = defining_op(pending.pop())
        if maker is None or traits(maker).collective or traits(maker).encloses:
            return True
        pending += [operand for operand in maker.operands if operand not in seen]
        seen.update(maker.operands)
    return False


def _is_waiting(branch: Operation) -> bool:
    """Whether both ways have barriers, or one waits in a loop for what the other may write."""
    sides = [set(_events(branch, i)) if has_body(branch, i) else set() for i in range(2)]
    first, second = sides
    return "barrier" in first & second or any(
        "spin" in one and "store" in other for one, other in ((first, second), (second, first))
    )


def _events(branch: Operation, side: int) -> Iterator[str]:
    for operation in body(branch, side).operations:
        for inner in (operation.operation, *walk(operation.operation)):
            if inner.name in _BARRIERS:
                yield "barrier"
            elif inner.name in _STORES:
                yield "store"
            elif spins(inner):
                yield "spin"


# Launches -------------------------------------------------------------------------------------------------------------
def _check_launch(chip: Chip, launch: Launch) -> None:
    place = place_of(launch.operation)
    lacking = {
        "clusters of blocks, and this launch asks for one": bool(launch.cluster),
        "programmatic dependent launch": launch.overlapping,
        "events that a launch records": bool(launch.events),
        "tensor maps": bool(launch.maps),
    }
    for what, asked in lacking.items():
        if asked:
            raise ArchitectureError(f"{chip.name} has no {what}", span=place, expected="a launch without it")

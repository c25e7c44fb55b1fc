"""WGMMA register hazards: who writes them without a fence, who touches them before the wait.

Input: a kernel of structured control flow. Output: findings, each with the two operations that meet. A fence is due
between whatever else wrote the sums (or a factor in registers) and the product; a wait between the product and whoever
reads or writes the sums. Any wait counts for all products before it whose group is closed, and branches count only
where both sides agree: what is found is wrong on every path that was looked at.
"""

from __future__ import annotations

from dataclasses import field, replace
from enum import Enum, auto

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.analysis.addresses import base
from triptych.kernel_ir.dialects.kernel_operations import body, defining_op, has_body, operations
from triptych.kernel_ir.dialects.opdef import WgmmaStep
from triptych.kernel_ir.dialects.tile import WGMMA_STEPS
from triptych.support.dataclass import dataclass

_ACCESSES = {"llvm.load": 0, "llvm.store": 1}
"""By the operand that is the address."""


class WgmmaHazard(Enum):
    """What is not between two operations; `COMMIT`: there is a wait, for groups that the product is in none of."""

    FENCE = auto()
    WAIT = auto()
    COMMIT = auto()


@dataclass(frozen=True, slots=True)
class Finding:
    """An operation, and the one before it with which it should not meet like this."""

    operation: Operation
    earlier: Operation
    missing: WgmmaHazard


@dataclass(frozen=True, slots=True)
class _Running:
    """A product that no wait has ended."""

    product: Operation
    is_closed: bool = False
    is_awaited: bool = False
    """By a wait before its group was closed."""


@dataclass(slots=True)
class _Registers:
    """What has happened to arrays of a thread: the last write without a fence since, the product without a wait."""

    written: dict[Value, Operation] = field(default_factory=dict)
    running: dict[Value, _Running] = field(default_factory=dict)

    def copy(self) -> _Registers:
        return _Registers(dict(self.written), dict(self.running))

    def join(self, other: _Registers) -> None:
        """Keep what holds on both sides."""
        self.written = {array: found for array, found in self.written.items() if array in other.written}
        self.running = {
            array: replace(found, is_closed=found.is_closed or other.running[array].is_closed)
            for array, found in self.running.items()
            if array in other.running
        }

    def close_group(self) -> None:
        self.running = {array: replace(found, is_closed=True) for array, found in self.running.items()}

    def wait(self) -> None:
        """For groups that are closed."""
        self.running = {
            array: replace(found, is_awaited=True) for array, found in self.running.items() if not found.is_closed
        }


def misused_registers(kernel: Operation) -> list[Finding]:
    """What is wrong, in program order."""
    analysis = _Analysis()
    analysis.run(operations(body(kernel)), _Registers())
    return analysis.findings


class _Analysis:
    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def run(self, found: list[Operation], state: _Registers) -> None:
        for operation in found:
            self._operation(operation, state)

    def _operation(self, operation: Operation, state: _Registers) -> None:
        name = operation.name
        if name == "scf.if":
            self._if(operation, state)
        elif name in ("scf.for", "scf.while"):
            for _ in range(2):  # what the end of an iteration leaves meets the start of the next
                for region in range(len(operation.regions)):
                    self.run(operations(body(operation, region)), state)
        elif name == "llvm.alloca":
            state.written[operation.results[0]] = operation
        elif name in _ACCESSES:
            self._access(operation, base(operation.operands[_ACCESSES[name]]), state)
        elif name in WGMMA_STEPS:
            self._wgmma(WGMMA_STEPS[name], operation, state)

    def _wgmma(self, step: WgmmaStep, operation: Operation, state: _Registers) -> None:
        match step:
            case WgmmaStep.FENCE:
                state.written.clear()
            case WgmmaStep.COMMIT:
                state.close_group()
            case WgmmaStep.WAIT:
                state.wait()
            case WgmmaStep.BEGIN:
                self._product(operation, state)

    def _if(self, operation: Operation, state: _Registers) -> None:
        other = state.copy()
        self.run(operations(body(operation, 0)), state)
        if has_body(operation, 1):
            self.run(operations(body(operation, 1)), other)
        state.join(other)

    def _access(self, operation: Operation, array: Value, state: _Registers) -> None:
        if (found := state.running.get(array)) is not None:
            self._find(operation, found.product, WgmmaHazard.COMMIT if found.is_awaited else WgmmaHazard.WAIT)
        if operation.name == "llvm.store" and defining_op(array) is not None:
            state.written[array] = operation

    def _product(self, operation: Operation, state: _Registers) -> None:
        sums, *rest = operation.operands
        registers = [sums, *(rest[:1] if not len(operation.attributes["a_operand"]) else [])]
        for array in map(base, registers):
            if array in state.written:
                self._find(operation, state.written[array], WgmmaHazard.FENCE)
        state.running[base(sums)] = _Running(operation)

    def _find(self, operation: Operation, earlier: Operation, missing: WgmmaHazard) -> None:
        if not any(found.operation == operation and found.missing is missing for found in self.findings):
            self.findings.append(Finding(operation, earlier, missing))

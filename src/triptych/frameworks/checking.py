"""`triptych.testing.check_op`: an operator of PyTorch under everything that PyTorch does with operators.

Input: an operator and the arguments of one call. Output: a line for each check, and what each has found; an error names
the first check that failed. Importing this imports no torch: who calls it has an operator of torch's.
"""

from __future__ import annotations

from typing import Any

from triptych.diagnostics.tensor_errors import OperatorCheckError
from triptych.driver.boundary import api_boundary
from triptych.support.dataclass import dataclass
from triptych.support.forking import import_late
from triptych.support.tracebacks import caller

PASSED, FAILED, LEFT_OUT = "passed", "failed", "left out"
_MARKS = {PASSED: "✓", FAILED: "✗", LEFT_OUT: "-"}
_CHECKS = "triptych.frameworks.operator_checks"


@dataclass(frozen=True, slots=True)
class OperatorCheck:
    """One check: its name, how it went, why, and a program that shows it again."""

    name: str
    outcome: str
    reason: str = ""
    reproducer: str = ""

    def __str__(self) -> str:
        return f"{_MARKS[self.outcome]} {self.name}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class CheckedOperator:
    """All checks of one operator."""

    name: str
    checks: tuple[OperatorCheck, ...]

    @property
    def failures(self) -> tuple[OperatorCheck, ...]:
        """The checks that failed, in their order."""
        return tuple(each for each in self.checks if each.outcome == FAILED)

    def as_dict(self) -> dict[str, Any]:
        """As `json.dumps` takes it."""
        fields = ("name", "outcome", "reason", "reproducer")
        return {
            "operator": self.name,
            "checks": [{name: getattr(each, name) for name in fields} for each in self.checks],
        }

    def __str__(self) -> str:
        return "\n".join([self.name, *map(str, self.checks)])


def _unsaid(line: str) -> None:
    """Where lines go that nobody wants."""


@api_boundary
def check_op(op: object, *args: object, must_pass: bool = True, quiet: bool = False) -> CheckedOperator:
    """Check an operator of PyTorch with the arguments of one call: `check_op(mul, a, b)`.

    `op` is what `triptych.torch.op` gives, or `torch.ops.library.name.default`. The arguments are not changed. Checked
    are: what `torch.library.opcheck` does; gradients in float64, against differences of results; one graph of
    `torch.compile`; `torch.export` with dynamic dimensions, strict and non-strict; tensors that are not contiguous,
    negated, and empty; whether each element of a result is written; and four threads. Each check prints a line, unless
    `quiet`; with `must_pass=False` a failure is in the result only.
    """
    checked: CheckedOperator = import_late(_CHECKS).checked(op, args, _unsaid if quiet else print)
    if must_pass and checked.failures:
        first = checked.failures[0]
        raise OperatorCheckError(
            f"{checked.name} fails the check `{first.name}`",
            span=caller(),
            found=first.reason,
            expected="an operator that behaves as PyTorch's own",
            instead=f"this shows it again:\n{first.reproducer}",
        )
    return checked

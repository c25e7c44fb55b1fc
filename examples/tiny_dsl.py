"""A second language on the base: fixed-point arithmetic for a machine that never jumps.

Its numbers are Q16.16 and saturate. An `if` runs both sides and selects, a `for` is unrolled, a `while` is refused.
Its operations are its own dialect, which one pass lowers to what the CPU target knows. Everything it needs from the
base is in `triptych` and `triptych.dsl`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import triptych as tt
from triptych import dsl

ONE = 1 << 16
LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1


class JumpError(tt.TriptychError, NotImplementedError):
    """Something that needs a jump. A language has its own errors, which point at the user's line like any other."""

    code = "FIX001"


# the value type: a dataclass crosses calls, branches and loops as its fields --------------------------------------
@dataclass(frozen=True)
class Fix:
    """A Q16.16 number: `raw` is a run-time Int32 in compiled code and an int in Python."""

    raw: Any

    def __float__(self) -> float:
        return float(self.raw / ONE)

    def __add__(self, other: Any) -> Fix:
        return _binary("fix.add", self, other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Fix:
        return _binary("fix.sub", self, other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Fix:
        return _binary("fix.mul", self, other, lambda a, b: (a * b) >> 16)

    def __lt__(self, other: Any) -> Any:
        return self.raw < fixed(other).raw


def fixed(value: Any) -> Fix:
    """A number as a Q16.16 number."""
    return value if isinstance(value, Fix) else Fix(round(value * ONE))


def _binary(name: str, left: Any, right: Any, in_python: Callable[[int, int], int]) -> Fix:
    """The operation `name` if an operand is known only at run time, else its meaning in Python."""
    raws = fixed(left).raw, fixed(right).raw
    if any(map(dsl.is_dynamic, raws)):
        return Fix(dsl.emit(name, raws, tt.Int32))
    return Fix(max(LOWEST, min(in_python(*raws), HIGHEST)))


# the dialect ------------------------------------------------------------------------------------------------------
ARITHMETIC = ("add", "sub", "mul")
FIX = dsl.Dialect(
    "fix",
    (
        *(dsl.OperationSpec(name, ("i32", "i32"), ("i32",), pure=True) for name in ARITHMETIC),
        dsl.OperationSpec("select", ("i1", "T", "T"), ("T",), pure=True),
    ),
)


# the hooks: what control flow means -------------------------------------------------------------------------------
class Select:
    """A branch without a jump: both sides are traced into the block around it, then their values are selected."""

    def open(self, trace: dsl.Trace, test: tt.Boolean) -> tuple[Any, Any]:
        self.block = trace.builder.insertion.block
        self.first = len(self.block.operations)
        return self.block, self.block

    def close(self, trace: dsl.Trace, test: tt.Boolean, regions: Any, values: Any) -> Sequence[Any]:
        for operation in list(self.block.operations)[self.first :]:
            if not operation.operation.name.startswith(("arith.", "fix.")):
                raise JumpError(
                    "an effect inside an `if`, both sides of which always run",
                    span=dsl.place_of(operation),
                    instead="the effect before or after the `if`",
                )
        return [trace.value("fix.select", (test.ir_value(), a, b), str(a.type)) for a, b in zip(*values, strict=True)]


class FixHooks(dsl.TracingHooks):
    """What rewritten code calls for its control flow; what is not said here is as in the base."""

    branch_form = Select

    def for_(self, iterable: Any, *rest: Any) -> None:
        items = iterable.static() if isinstance(iterable, tt.range) else iterable
        super().for_(iter(items), *rest)

    def while_(self, *_: Any) -> NoReturn:
        raise JumpError("`while` needs a jump", span=dsl.place(), instead="`for` with a `break`")


# the pass: what the operations mean -------------------------------------------------------------------------------
def saturating(name: str, shift: int = 0) -> dsl.Rule:
    """Compute with 64 bits, shift, and keep the nearest 32-bit number."""

    def rule(op: dsl.Replacement) -> list[Any]:
        left, right = (op.value("arith.extsi", (operand,), "i64") for operand in op.operands)
        exact = op.value("arith.shrsi", (op.value(name, (left, right), "i64"), op.integer("i64", shift)), "i64")
        above = op.value("arith.maxsi", (exact, op.integer("i64", LOWEST)), "i64")
        within = op.value("arith.minsi", (above, op.integer("i64", HIGHEST)), "i64")
        return [op.value("arith.trunci", (within,), "i32")]

    return rule


RULES = {
    "fix.add": saturating("arith.addi"),
    "fix.sub": saturating("arith.subi"),
    "fix.mul": saturating("arith.muli", shift=16),
    "fix.select": lambda op: [op.value("arith.select", op.operands, str(op.operands[1].type))],
}
LOWER_FIX = dsl.PassSpec("lower-fix", "The CPU target knows no fixed-point numbers.", dsl.replacing(RULES))

# the language and its decorator -----------------------------------------------------------------------------------
fix = tt.jit(language=dsl.DSL("fix", FixHooks, (FIX,), (LOWER_FIX,)))


@fix
def square_root(x: Fix, steps: tt.Constexpr) -> Fix:
    """By halving an interval; stops early when the root is exact."""
    low, high = fixed(0), fixed(181)
    for _ in range(steps):
        middle = (low + high) * 0.5
        square = middle * middle
        if square.raw == x.raw:
            return middle
        low, high = (middle, high) if square < x else (low, middle)
    return low


if __name__ == "__main__":
    print("square root of 2:", float(square_root(fixed(2.0), 24)))
    print("square root of 9:", float(square_root(fixed(9.0), 24)))
    print("two steps as traced:", tt.compile(square_root, fixed(2.0), 2).mlir, sep="\n")

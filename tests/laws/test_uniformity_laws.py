"""What the lane analysis claims of every value of a kernel holds in each of its warps."""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.ir.handles import Operation, Value
from triptych.ir.types import int_width
from triptych.kernel_ir.analysis.lanes import Lanes
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_operations import walk

WARP, WARPS, BLOCK_NUMBER = 16, 3, 5
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "divui": operator.floordiv,
    "remui": operator.mod,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
    "shrui": operator.rshift,
    "shli": operator.lshift,
}
BY_CONSTANTS = ("divui", "remui", "shrui", "shli")
"""The second operand is one that no machine refuses."""


def body(random: Random) -> str:
    """Arithmetic on a thread's number as layouts write it, (136 w + x) / 8 - 17 w, and more after it."""
    kind = random.choice(["i32", "i16"])
    lines = [f"%v0 = arith.index_cast %tx : index to {kind}", f"%v1 = arith.index_cast %bx : index to {kind}"]

    def compute(name: str, left: int, right: int | None = None) -> None:
        place = len(lines)
        operand = f"%v{right}"
        if right is None:
            operand = f"%k{place}"
            constant = (
                random.randrange(8) if name.startswith("sh") else random.choice((1, 2, 4, 8, 16, 16, 3, 17, 4096))
            )
            lines[-1] += f"\n{operand} = arith.constant {constant} : {kind}"
        lines.append(f"%v{place} = arith.{name} %v{left}, {operand} : {kind}")

    compute("divui", 0)
    compute("remui", 0)
    compute("muli", 2)
    compute("muli", 3)
    compute("addi", 4, 5)
    compute(random.choice(["addi", "subi"]), 6)
    compute("divui", 7)
    compute("muli", 2)
    compute("subi", 8, 9)
    for _ in range(random.randrange(6)):
        name = random.choice(list(ARITHMETIC))
        left, right = (random.randrange(len(lines)) for _ in range(2))
        compute(name, left, None if name in BY_CONSTANTS or random.random() < 0.5 else right)
    return "\n".join(lines)


def computed(operation: Operation, values: dict[Value, list[int]]) -> list[int]:
    """The number of every thread of a block, as an unsigned one of the result's type."""
    name, threads = operation.name, range(WARP * WARPS)
    if name == "gpu.thread_id":
        found = [*threads] if "x" in str(operation.attributes["dimension"]) else [0] * len(threads)
    elif name == "gpu.block_id":
        found = [BLOCK_NUMBER] * len(threads)
    elif name == "arith.constant":
        found = [operation.attributes["value"].value] * len(threads)
    else:
        operands = [values[operand] for operand in operation.operands]
        found = operands[0] if len(operands) == 1 else [*map(ARITHMETIC[name.split(".")[1]], *operands)]
    return [number % 2 ** (int_width(operation.results[0].type) or 64) for number in found]


def check(claim: Lanes, numbers: list[int], firsts: dict[Value, int], bits: int) -> None:
    """Of one warp."""
    if claim.offsets is None:
        return
    for lane, (number, offset) in enumerate(zip(numbers, claim.offsets, strict=True)):
        rows = sum(times[lane] * firsts[value] for value, times in claim.multiples)
        assert (number - numbers[0] - offset - rows) % 2**bits == 0
    if claim.constant is not None:
        assert (numbers[0] - claim.constant) % 2**bits == 0
    if claim.divisor:
        assert numbers[0] % min(claim.divisor & -claim.divisor, 2**bits) == 0
    if claim.linear is not None:
        sum_now = claim.linear.constant + sum(times * firsts[value] for value, times in claim.linear.terms)
        assert (sum_now - numbers[0]) % 2**bits == 0
        assert claim.linear.low <= sum_now <= claim.linear.high


@pytest.mark.parametrize("part", range(4))
def test_claims_hold_in_every_warp(part: int) -> None:
    for seed in range(250 * part, 250 * (part + 1)):
        check_kernel(body(Random(seed)))


def check_kernel(text: str) -> None:
    block = (WARP * WARPS, 1, 1)
    function, _module = kernel(text, block)
    analysis = UniformityAnalysis(function, Shape(WARP, block))
    values: dict[Value, list[int]] = {}
    for operation in walk(function):
        if not operation.results:
            continue
        result = operation.results[0]
        values[result] = computed(operation, values)
        bits = int_width(result.type) or 64
        for warp in range(WARPS):
            firsts = {value: numbers[WARP * warp] for value, numbers in values.items()}
            check(analysis.at(result), values[result][WARP * warp : WARP * (warp + 1)], firsts, bits)


WRAPPED = """
    %v0 = arith.index_cast %tx : index to i16
    %k2 = arith.constant 2 : i16
    %k4096 = arith.constant 4096 : i16
    %v1 = arith.divui %v0, %k2 : i16
    %v2 = arith.muli %v1, %k4096 : i16
    %v3 = arith.divui %v2, %k4096 : i16
    %v4 = arith.subi %v3, %v1 : i16
"""


def test_what_wraps_around_is_no_sum() -> None:
    check_kernel(WRAPPED)

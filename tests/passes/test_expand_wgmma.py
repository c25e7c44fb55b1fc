"""`expand-wgmma`: instructions, and the registers that products, waits and fences take."""

from __future__ import annotations

import re

import pytest

from tests.passes.running import checked, lowered_kernel, parsed
from triptych.ir.modules import kernels, operations_named
from triptych.targets.nvptx.passes.expand_wgmma import expand_wgmma, wgmma_in_flight

ARGUMENTS = "%s: !llvm.ptr<3>, %more: i1"
ARRAYS = """
  %count = llvm.mlir.constant(4 : i32) : i32
  %d = llvm.alloca %count x f32 : (i32) -> !llvm.ptr
  %e = llvm.alloca %count x f32 : (i32) -> !llvm.ptr
  %r = llvm.alloca %count x vector<2xf16> : (i32) -> !llvm.ptr
"""
FENCE, COMMIT = '"tile.wgmma_fence"() : () -> ()', '"tile.wgmma_commit"() : () -> ()'


def wait(groups: int) -> str:
    return f'"tile.wgmma_wait"() {{groups = {groups} : i64}} : () -> ()'


def product(
    d: str = "%d",
    a: str = "%s",
    instruction: str = "m64n8k16.f32.f16.f16",
    k: int = 1,
    majors: tuple[int, int] = (0, 0),
) -> str:
    shared = a == "%s"
    distances = ", ".join(str(32 * i) for i in range(k))
    a_places = distances if shared else ", ".join(map(str, range(4 * k)))
    a_operand = f"array<i64: {majors[0]}, 3, 16, 1024>" if shared else "array<i64>"
    return (
        f'"tile.wgmma"({d}, {a}, %s, %more) {{instruction = "{instruction}", tiles = array<i64: 1, 1, {k}>, '
        f"d = array<i64: 0, 1, 2, 3>, a = array<i64: {a_places}>, b = array<i64: {distances}>, "
        f"a_operand = {a_operand}, b_operand = array<i64: {majors[1]}, 3, 16, 1024>}} "
        f": (!llvm.ptr, {'!llvm.ptr<3>' if shared else '!llvm.ptr'}, !llvm.ptr<3>, i1) -> ()"
    )


def kernel(*lines: str) -> str:
    return lowered_kernel("\n".join([ARRAYS, *lines, "llvm.return"]), ARGUMENTS)


def texts(*lines: str) -> list[tuple[str, str]]:
    """The pieces of PTX that come out, each with its constraints."""
    module = parsed(kernel(*lines))
    with module.context:
        expand_wgmma(module)
    found = operations_named(kernels(module, "llvm.func")[0], "llvm.inline_asm")
    return [
        (" ".join(each.attributes["asm_string"].value.split()), each.attributes["constraints"].value) for each in found
    ]


TAILS = {
    ("m64n8k16.f32.f16.f16", (0, 0)): "$6, 1, 1, 0, 0;",
    ("m64n8k16.f32.bf16.bf16", (1, 0)): "$6, 1, 1, 1, 0;",
    ("m64n8k16.f32.f16.f16", (0, 1)): "$6, 1, 1, 0, 1;",
    ("m64n8k8.f32.tf32.tf32", (0, 0)): "$6, 1, 1;",
    ("m64n8k32.f32.e4m3.e5m2", (0, 0)): "$6, 1, 1;",
    ("m64n8k32.s32.s8.u8", (0, 0)): "$6;",
}


@pytest.mark.parametrize(("instruction", "majors"), TAILS)
def test_both_factors_in_shared_memory(instruction: str, majors: tuple[int, int]) -> None:
    ((text, constraints),) = texts(product(instruction=instruction, majors=majors))
    head = f"wgmma.mma_async.sync.aligned.{instruction} {{$0, $1, $2, $3}}, $4, $5, "
    assert text == head + TAILS[instruction, majors]
    letter = "r" if "s32" in instruction else "f"
    assert constraints == f"={letter}," * 4 + "l,l,b,0,1,2,3,~{memory}"


def test_a_factor_in_registers_has_one_flag() -> None:
    ((text, constraints),) = texts(product(a="%r", majors=(0, 1)))
    assert text.endswith("{$0, $1, $2, $3}, {$4, $5, $6, $7}, $8, $9, 1, 1, 1;")
    assert constraints == "=f,=f,=f,=f,r,r,r,r,l,b,0,1,2,3,~{memory}"


def test_only_the_first_of_several_begins_with_zero() -> None:
    ((text, constraints),) = texts(product(k=3))
    assert text.startswith("{ .reg .pred yes; setp.ne.b32 yes, 1, 0; wgmma")
    assert re.findall(r"}, (\$\d+, \$\d+, \S+), 1, 1", text) == ["$4, $7, $10", "$5, $8, yes", "$6, $9, yes"]
    assert constraints == "=f,=f,=f,=f,l,l,l,l,l,l,b,0,1,2,3,~{memory}"


def test_descriptors() -> None:
    """One constant for all that is known, and an address in units of 16 bytes."""
    checked(
        kernel(product(k=2)),
        expand_wgmma,
        f"""
        # CHECK: llvm.ptrtoint %arg0 : !llvm.ptr<3> to i32
        # CHECK: llvm.lshr
        # CHECK: llvm.and
        # CHECK: llvm.mlir.constant({0x10002} : i32)
        # CHECK: llvm.mlir.constant({1 << 62 | 64 << 32} : i64)
        """,
    )


def test_registers_come_back_in_a_struct_whose_name_says_its_fields() -> None:
    """Two lists of as many registers may differ in their kinds."""
    checked(
        kernel(product(), product("%e", "%r"), FENCE, product("%d", "%r")),
        expand_wgmma,
        """
        # CHECK: !llvm.struct<"registers_f32x4", (f32, f32, f32, f32)>
        # CHECK: !llvm.struct<"registers_f32x4_i32x4", (f32, f32, f32, f32, i32, i32, i32, i32)>
        """,
    )


def test_a_wait_takes_the_sums_that_may_be_written_and_the_registers_that_may_be_read() -> None:
    found = texts(product(), COMMIT, product("%e", "%r"), COMMIT, wait(0), wait(0))
    waits = [constraints for text, constraints in found if "wait_group" in text]
    assert waits == ["=f," * 8 + "r," * 4 + "0,1,2,3,4,5,6,7,~{memory}", "~{memory}"]


def test_a_fence_takes_what_comes_after_it() -> None:
    found = texts(product("%e"), FENCE, product("%d", "%r"), FENCE)
    fences = [constraints for text, constraints in found if "fence" in text]
    assert fences == ["=f,=f,=f,=f,=r,=r,=r,=r,0,1,2,3,4,5,6,7,~{memory}", "~{memory}"]


def in_flight(*lines: str) -> list[list[int]]:
    """For each wait, the numbers of the products."""
    module = parsed(kernel(*lines))
    (function,) = kernels(module, "llvm.func")
    numbers = {each: i for i, each in enumerate(operations_named(function, "tile.wgmma"))}
    waited = wgmma_in_flight(function).waited
    return [[numbers[each] for each in waited[one]] for one in operations_named(function, "tile.wgmma_wait")]


def test_groups_are_counted() -> None:
    """A wait ends what it does not leave."""
    assert in_flight(product(), COMMIT, product(), COMMIT, wait(1), wait(0), wait(0)) == [[0, 1], [1], []]
    assert in_flight(product(), COMMIT, wait(1), product(), COMMIT, wait(1), wait(1)) == [[0], [0, 1], [1]]
    assert in_flight(product(), wait(0), COMMIT, wait(0)) == [[0], [0]]


def test_over_branches_and_loops() -> None:
    loop = [
        "llvm.br ^loop",
        "^loop:",
        FENCE,
        product(),
        COMMIT,
        wait(1),
        "llvm.cond_br %more, ^loop, ^end",
        "^end:",
        wait(0),
        "llvm.cond_br %more, ^some, ^all",
        "^some:",
        product("%e"),
        COMMIT,
        "llvm.br ^all",
        "^all:",
        wait(0),
    ]
    assert in_flight(*loop) == [[0], [0], [1]]

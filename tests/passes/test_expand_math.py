"""`expand-math`: functions of numbers become arithmetic, those of vectors lane by lane."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.kernel_ir.transforms.mathematics.formulas import FORMULAS, expand_math


def program(name: str, kind: str) -> str:
    operands = "%x, %x" if name in ("math.atan2", "math.powf") else "%x"
    made = "%a, %b" if name == "math.sincos" else "%a"
    stores = "".join(f"\nllvm.store {value}, %p : {kind}, !llvm.ptr<1>" for value in made.split(", "))
    return kernel(f"{made} = {name} {operands} : {kind}{stores}", f"%x: {kind}, %p: !llvm.ptr<1>")


@pytest.mark.parametrize("name", sorted(FORMULAS))
@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "vector<2xf32>"])
def test_no_function_is_left(name: str, kind: str) -> None:
    checked(program(name, kind), expand_math, f"# CHECK: gpu.func @k\n# CHECK-NOT: {name} \n# CHECK: llvm.store")


def test_doubles_are_left_to_the_target() -> None:
    checked(program("math.exp", "f64"), expand_math, "# CHECK: math.exp %arg0 : f64")


def test_a_large_angle_is_reduced_where_it_is() -> None:
    checked(program("math.sin", "f32"), expand_math, "# CHECK: scf.if\n# CHECK-NOT: func.call\n# CHECK: } else {")

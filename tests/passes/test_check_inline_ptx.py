"""`check-inline-ptx`: constraints that LLVM could not read are refused; all that fit are left alone."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel, parsed
from triptych.ir.errors import LoweringError
from triptych.targets.nvptx.passes.inline_ptx import check_inline_ptx

NONE, ONE, TWO = "", "i32", "!llvm.struct<(i32, f32)>"


def inline(constraints: str, results: str, operands: int) -> str:
    names = ", ".join(["%n"] * operands)
    kinds = ", ".join(["i32"] * operands)
    result = f" -> {results}" if results else " -> ()"
    made = "%r = " if results else ""
    return kernel(f'{made}llvm.inline_asm "text", "{constraints}" {names} : ({kinds}){result}', "%n: i32")


@pytest.mark.parametrize(
    ("constraints", "results", "operands"),
    [
        ("", NONE, 0),
        ("=r", ONE, 0),
        ("=&r", ONE, 0),
        ("=r,r", ONE, 1),
        ("=r,0", ONE, 1),
        ("=r,12", ONE, 1),
        ("=r,=f,r,r", TWO, 2),
        ("r,~{memory}", NONE, 1),
        ("~{memory}", NONE, 0),
        ("=r,,r", ONE, 1),
        *((letter, NONE, 1) for letter in "bhcrlqfdni"),
        *((f"={letter}", ONE, 0) for letter in "bhcrlqfd"),
    ],
)
def test_what_fits(constraints: str, results: str, operands: int) -> None:
    checked(inline(constraints, results, operands), check_inline_ptx, '# CHECK: llvm.inline_asm "text"')


@pytest.mark.parametrize(
    "part", ["=x", "=", "=rr", "=&", "&r", "x", "rr", "r0", "~memory", "~{}", "~{a b}", "=0", "=n", "=i", "*r"]
)
def test_what_llvm_cannot_read(part: str) -> None:
    module = parsed(inline(part, NONE, 0))
    with pytest.raises(LoweringError, match="constraints of inline PTX do not fit") as error:
        check_inline_ptx(module)
    assert f"found: '{part}' in '{part}'" in str(error.value)
    assert "`=` and a letter, or a letter: b (1), h (16), c (16), r (32), l (64), q (128), f (f32)" in str(error.value)


@pytest.mark.parametrize(
    ("constraints", "results", "operands", "found", "expected"),
    [
        ("r", ONE, 1, "0 outputs and 1 inputs", "1 outputs and 1 inputs, in this order"),
        ("=r", NONE, 0, "1 outputs and 0 inputs", "0 outputs and 0 inputs, in this order"),
        ("=r,r", ONE, 2, "1 outputs and 1 inputs", "1 outputs and 2 inputs, in this order"),
        ("=r,r", TWO, 1, "1 outputs and 1 inputs", "2 outputs and 1 inputs, in this order"),
        ("=r,=r,=r", TWO, 0, "3 outputs and 0 inputs", "2 outputs and 0 inputs, in this order"),
        ("r,=r", ONE, 1, "1 outputs and 1 inputs", "1 outputs and 1 inputs, in this order"),
        ("~{memory},r", NONE, 1, "0 outputs and 1 inputs", "0 outputs and 1 inputs, in this order"),
    ],
)
def test_other_numbers_and_orders(constraints: str, results: str, operands: int, found: str, expected: str) -> None:
    module = parsed(inline(constraints, results, operands))
    with pytest.raises(LoweringError) as error:
        check_inline_ptx(module)
    assert f"found: {found} in '{constraints}'" in str(error.value)
    assert f"expected: {expected}" in str(error.value)


def test_host_functions_are_not_read() -> None:
    host = 'func.func @host() { llvm.inline_asm "text", "?" : () -> () return }'
    checked(kernel("", host=host), check_inline_ptx, "# CHECK: llvm.inline_asm")

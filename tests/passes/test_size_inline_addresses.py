"""`size-inline-addresses`: inline PTX gets addresses of shared memory in registers of the size that it names."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, lowered_kernel
from triptych.targets.nvptx.passes.inline_ptx import size_inline_addresses


def inline(constraints: str, operands: str, kinds: str, results: str = "()", space: int = 3) -> str:
    made = "" if results == "()" else "%r = "
    arguments = f"%s: !llvm.ptr<{space}>, %g: !llvm.ptr<1>, %n: i32"
    text = f'{made}llvm.inline_asm "text", "{constraints}" {operands} : ({kinds}) -> {results}\nllvm.return'
    return lowered_kernel(text, arguments)


@pytest.mark.parametrize(("letter", "integer"), [("l", "i64"), ("r", "i32")])
@pytest.mark.parametrize("space", [3, 7])
def test_an_address_of_shared_memory_is_an_integer(letter: str, integer: str, space: int) -> None:
    """Of the block, or of its cluster."""
    checked(
        inline(f"=r,r,{letter},~{{memory}}", "%n, %s", f"i32, !llvm.ptr<{space}>", "i32", space),
        size_inline_addresses,
        f"""
        # CHECK: %0 = llvm.ptrtoint %arg0 : !llvm.ptr<{space}> to {integer}
        # CHECK: llvm.inline_asm {{{{.*}}}} %arg2, %0 : (i32, {integer}) -> i32
        """,
    )


@pytest.mark.parametrize(
    ("constraints", "operands", "kinds"),
    [("", "", ""), ("l", "%g", "!llvm.ptr<1>"), ("r,~{memory}", "%n", "i32"), ("~{memory}", "", "")],
)
def test_everything_else_stays(constraints: str, operands: str, kinds: str) -> None:
    checked(
        inline(constraints, operands, kinds),
        size_inline_addresses,
        "# CHECK-NOT: llvm.ptrtoint\n# CHECK: llvm.inline_asm",
    )

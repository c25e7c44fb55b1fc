"""What cannot be compiled is an error with a code, and never the end of the process."""

from __future__ import annotations

import pytest

import triptych as tt
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.errors import LoweringError
from triptych.ir.modules import SerializedModule
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.objectstage.device_errors import AssemblerError
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, find_target
from triptych.stages import Compiled, Traced

SM_80 = find_target("nvptx:sm_80")


def compiled(body: str) -> Compiled:
    """A kernel of one pointer, written as MLIR."""
    text = (
        "module attributes {gpu.container_module} { gpu.module @kernels {"
        f"gpu.func @k(%p: !llvm.ptr<1>) kernel {{ {body} gpu.return }} }} func.func @k() {{ return }} }}"
    )
    for dialect in KERNEL_DIALECTS:
        dialect.load(context())
    traced = Traced("k", SerializedModule(bindings.mlir().Module.parse(text, context=context())), (), ())
    return SM_80.codegen(lower(traced, SM_80), CompileOptions())


CONSTRAINTS = {
    "no letter": ("=@", "()", "i32"),
    "unknown letter": ("=z", "()", "i32"),
    "no register": ("={eax}", "()", "i32"),
    "none for the result": ("", "()", "i32"),
    "one too many": ("=r,r", "()", "i32"),
    "one too few": ("=r", "%p : (!llvm.ptr<1>)", "i32"),
    "two results, one output": ("=r", "()", "!llvm.struct<(i32, i32)>"),
    "a strange clobber": ("=r,~memory", "()", "i32"),
    "input before output": ("l,=r", "%p : (!llvm.ptr<1>)", "i32"),
}


@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_constraints_that_no_register_fits(constraints: str) -> None:
    text, operands, result = CONSTRAINTS[constraints]
    operands = operands if operands.startswith("%") else f": {operands}"
    with pytest.raises(LoweringError, match="the constraints of inline PTX do not fit"):
        compiled(f'%x = llvm.inline_asm "mov.u32 $0, 1;", "{text}" {operands} -> {result}')


@needs_assembler
def test_constraints_that_fit() -> None:
    text = '"mov.b64 {$0, $1}, $2;", "=r,=&r,l,~{memory}" %p : (!llvm.ptr<1>) -> !llvm.struct<(i32, i32)>'
    use = "%y = llvm.extractvalue %x[1] : !llvm.struct<(i32, i32)>  llvm.store %y, %p : i32, !llvm.ptr<1>"
    assert "mov.b64 {" in compiled(f"%x = llvm.inline_asm {text}  {use}").assembly


@needs_assembler
def test_inline_ptx_that_is_none() -> None:
    with pytest.raises(AssemblerError) as caught:
        compiled('llvm.inline_asm has_side_effects "move.over $0, 1;", "l" %p : (!llvm.ptr<1>) -> ()')
    assert "move" in caught.value.found


@needs_assembler
def test_inline_ptx() -> None:
    code = 'llvm.inline_asm has_side_effects "st.global.u32 [$0], 7;", "l" %p : (!llvm.ptr<1>) -> ()'
    assert "st.global.u32" in compiled(code).assembly


@needs_assembler
def test_a_function_that_launches_nothing_has_no_kernels() -> None:
    found = tt.compile(tt.jit(lambda n: n), 1, target="nvptx:sm_80")
    assert dict(found.resources) == {}

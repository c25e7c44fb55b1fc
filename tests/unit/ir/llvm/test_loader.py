from __future__ import annotations

import ctypes
import gc

import pytest

from triptych.ir.errors import CodegenError
from triptych.ir.llvm.loader import load_object
from triptych.ir.llvm.object_file import undefined_symbols
from triptych.ir.llvm.worker import Request, shared_pool


def compiled(text: str, request: Request | None = None) -> bytes:
    return shared_pool().compile(request or Request(), text).object


def test_code_runs_and_equal_names_do_not_meet() -> None:
    three, four = (load_object(compiled(f"define i32 @f() {{ ret i32 {n} }}"), "f", {}) for n in (3, 4))
    call = ctypes.CFUNCTYPE(ctypes.c_int)
    assert (call(three.address)(), call(four.address)()) == (3, 4)
    del three
    gc.collect()
    assert call(four.address)() == 4


def test_imports_come_from_the_given_symbols_and_from_the_process() -> None:
    heard: list[int] = []
    listen = ctypes.CFUNCTYPE(None, ctypes.c_int)(heard.append)
    address = ctypes.cast(listen, ctypes.c_void_p).value
    assert address is not None
    text = """
declare void @listen(i32)
declare double @cos(double)
define double @f() { call void @listen(i32 7) %c = call double @cos(double 0.0) ret double %c }
"""
    code = load_object(compiled(text, Request(opt_level=0)), "f", {"listen": address})
    assert ctypes.CFUNCTYPE(ctypes.c_double)(code.address)() == 1.0
    assert heard == [7]


def test_what_nobody_has_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    text = "declare i32 @no_such_function()\ndefine i32 @f() { %a = call i32 @no_such_function() ret i32 %a }"
    artifact = compiled(text)
    assert "no_such_function" in undefined_symbols(artifact)
    with pytest.raises(CodegenError, match="no_such_function"):
        load_object(artifact, "f", {})
    assert capfd.readouterr().err == ""


def test_what_is_no_object_file_is_refused() -> None:
    with pytest.raises(CodegenError):
        load_object(b"not an object file", "f", {})
    assert undefined_symbols(b"not an object file") == ()

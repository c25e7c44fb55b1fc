"""Libraries of bitcode: a module gets the functions that it declares, what those call, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.ir import bindings
from triptych.ir.errors import CodegenError
from triptych.ir.llvm.worker import Request, shared_pool

LIBRARY = """
@table = internal constant [2 x i32] [i32 3, i32 5]
define i32 @part(i32 %x) noinline { %p = getelementptr i32, ptr @table, i32 %x  %y = load i32, ptr %p  ret i32 %y }
define i32 @wanted(i32 %x) noinline { %y = call i32 @part(i32 %x)  ret i32 %y }
define i32 @other(i32 %x) noinline { ret i32 7 }
define i32 @clash(i32 %x) noinline { ret i32 9 }
"""
PROGRAM = """
declare i32 @{0}(i32)
define i32 @clash(i32 %x) noinline {{ ret i32 11 }}
define i32 @main(i32 %x) {{ %y = call i32 @{0}(i32 %x)  %z = call i32 @clash(i32 %x)  %r = add i32 %y, %z  ret i32 %r }}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    file: Path = tmp_path_factory.mktemp("library") / "library.bc"
    file.write_bytes(bindings.llvm().parse_assembly(LIBRARY).as_bitcode())
    return str(file)


def assembly(function: str, *libraries: str, opt_level: int = 0) -> str:
    request = Request(opt_level=opt_level, emit=("assembly",), libraries=libraries)
    return shared_pool().compile(request, PROGRAM.format(function)).assembly


def defined(text: str) -> set[str]:
    return {name for name in ("part", "wanted", "other", "clash", "main", "table") if f"\n{name}:" in text}


def test_only_what_is_declared_and_what_it_calls_is_added(library: str) -> None:
    assert defined(assembly("wanted", library)) == {"wanted", "part", "clash", "main", "table"}
    assert defined(assembly("other", library)) == {"other", "clash", "main"}


def test_a_function_of_the_program_stays_its_own(library: str) -> None:
    text = assembly("other", library)
    assert "$11" in text or "#11" in text
    assert "$9" not in text


def test_what_no_library_has_stays_declared(library: str) -> None:
    assert defined(assembly("elsewhere", library)) == {"clash", "main"}
    assert defined(assembly("wanted")) == {"clash", "main"}


def test_a_library_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CodegenError):
        assembly("wanted", str(tmp_path / "absent.bc"))

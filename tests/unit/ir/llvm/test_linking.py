"""Object files linked without LLVM: every kind of section, imports, what is refused, and memory that is given back."""

from __future__ import annotations

import ctypes
import gc
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.ir.errors import CodegenError
from triptych.ir.llvm import loader
from triptych.ir.llvm.linking import can_link, link
from triptych.ir.llvm.loader import load_object
from triptych.ir.llvm.object_file import ObjectFile
from triptych.ir.llvm.relocations import NotLinkableError
from triptych.ir.llvm.worker import Request, shared_pool

pytestmark = pytest.mark.skipif(not can_link(), reason="LLVM links on this machine")

PROGRAM = """
@constant = internal constant [4 x i64] [i64 2, i64 3, i64 5, i64 7]
@counter = internal global i64 40
@zeros = internal global [1000 x i64] zeroinitializer
@table = internal constant [2 x ptr] [ptr @first, ptr @second]
declare double @sqrt(double)
declare i64 @given(i64)
define internal i64 @first(i64 %x) { %r = add i64 %x, 1  ret i64 %r }
define internal i64 @second(i64 %x) { %r = mul i64 %x, 3  ret i64 %r }
define i64 @read(i64 %i) {
  %p = getelementptr [4 x i64], ptr @constant, i64 0, i64 %i
  %r = load i64, ptr %p
  ret i64 %r
}
define i64 @count() {
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  %p = getelementptr [1000 x i64], ptr @zeros, i64 0, i64 999
  store i64 %new, ptr %p
  %r = load i64, ptr %p
  ret i64 %r
}
define i64 @choose(i64 %i, i64 %x) {
  %p = getelementptr [2 x ptr], ptr @table, i64 0, i64 %i
  %f = load ptr, ptr %p
  %r = call i64 %f(i64 %x)
  ret i64 %r
}
define double @root(double %x) { %r = call double @sqrt(double %x)  ret double %r }
define i64 @ask(i64 %x) { %r = call i64 @given(i64 %x)  ret i64 %r }
"""


def compiled(text: str, *, position_independent: bool = False) -> bytes:
    request = Request(opt_level=1, emit=("object",), position_independent=position_independent)
    return shared_pool().compile(request, text).object


@pytest.fixture(scope="module", params=[False, True], ids=["for this process", "exported"])
def program(request: pytest.FixtureRequest) -> bytes:
    return compiled(PROGRAM, position_independent=request.param)


def integers(address: int, count: int) -> ctypes._CFunctionType:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(address)


def test_every_kind_of_section_and_import(program: bytes) -> None:
    given = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x - 100)
    image = link(program, {"given": ctypes.cast(given, ctypes.c_void_p).value or 0})
    assert [integers(image["read"], 1)(i) for i in range(4)] == [2, 3, 5, 7]
    assert [integers(image["count"], 0)() for _ in range(3)] == [41, 42, 43]
    assert [integers(image["choose"], 2)(i, 10) for i in range(2)] == [11, 30]
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(image["root"])(2.25) == 1.5
    assert integers(image["ask"], 1)(7) == -93


def test_two_images_share_nothing(program: bytes) -> None:
    one, other = (link(program, {"given": 0}) for _ in range(2))
    assert integers(one["count"], 0)() == integers(other["count"], 0)() == 41


def test_constants_and_code_cannot_be_written(program: bytes) -> None:
    image = link(program, {"given": 0})
    maps = Path("/proc/self/maps").read_text().splitlines()
    rights = next(
        row.split()[1]
        for row in maps
        if int(row.partition("-")[0], 16) <= image["read"] < int(row.split()[0].partition("-")[2], 16)
    )
    assert rights == "r-xp"


def test_an_unknown_import_is_refused_by_name() -> None:
    text = "declare void @no_such_function()\ndefine void @f() { call void @no_such_function()  ret void }"
    with pytest.raises(NotLinkableError, match="no_such_function"):
        link(compiled(text), {})


def test_what_cannot_be_linked_has_a_code_and_llvm_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM's linker ends the process where an address is out of reach."""

    def never(*_: object) -> object:
        raise AssertionError("LLVM was asked")

    monkeypatch.setattr(loader, "_load_by_llvm", never)
    text = "@t = thread_local global i64 7\ndefine i64 @f() { %v = load i64, ptr @t ret i64 %v }"
    artifact = compiled(text, position_independent=True)  # LLVM has no large code model of it for AArch64
    with pytest.raises(CodegenError, match="TT0502"):
        load_object(artifact, "f", {})


def test_llvm_links_for_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    small = "define i64 @f() { ret i64 5 }"
    loaded = load_object(compiled(small), "f", {})
    monkeypatch.setattr(loader, "can_link", lambda: False)
    again = load_object(compiled(small), "f", {})
    assert loaded.linker is None
    assert again.linker is not None
    assert integers(loaded.address, 0)() == integers(again.address, 0)() == 5


def test_damaged_files_are_refused(program: bytes) -> None:
    """Cut off anywhere but in the last eight bytes, or of another machine or kind: never a crash, never an image."""
    for length in range(0, len(program) - 8, 97):
        with pytest.raises(NotLinkableError):
            link(program[:length], {"given": 0})
    for offset in (0, 4, 5, 16, 18):
        damaged = bytearray(program)
        damaged[offset] ^= 0xFF
        with pytest.raises(NotLinkableError):
            link(bytes(damaged), {"given": 0})


def test_a_relocation_outside_of_its_section_is_refused(program: bytes) -> None:
    file = ObjectFile(program)
    table = next(section for section in file.sections if section.kind == 4)
    damaged = bytearray(program)
    struct.pack_into("<Q", damaged, table.offset, 1 << 40)
    with pytest.raises(NotLinkableError):
        link(bytes(damaged), {"given": 0})


def test_memory_is_given_back(program: bytes) -> None:
    def mapped() -> int:
        return len(Path("/proc/self/maps").read_text().splitlines())

    link(program, {"given": 0})
    gc.collect()
    before = mapped()
    for _ in range(200):
        link(program, {"given": 0})
    gc.collect()
    assert mapped() < before + 20


def test_no_llvm_is_imported_to_load(tmp_path: Path, program: bytes) -> None:
    path = tmp_path / "program.o"
    path.write_bytes(program)
    text = (
        "import sys; from pathlib import Path; from triptych.ir.llvm.loader import load_object;"
        f"load_object(Path({str(path)!r}).read_bytes(), 'read', {{'given': 0}});"
        "print([name for name in sys.modules if name.partition('.')[0] in ('llvmlite', 'torch_mlir')])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

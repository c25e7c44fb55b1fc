"""Both assemblers, and what happens without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import INSTALLED, needs_assembler, needs_disassembler
from triptych import cute
from triptych.objectstage.device_errors import AssemblerError, MissingToolError, NoGpuError
from triptych.support.config import TABLE, override
from triptych.support.setting import SettingError
from triptych.targets.nvptx.description.architectures import ARCHITECTURES, Architecture
from triptych.targets.nvptx.report.machine_code import instruction_counts
from triptych.targets.nvptx.toolchain import assembling, locate, programs
from triptych.targets.nvptx.toolchain.assembler import (
    Assembled,
    Assembler,
    AssemblerOptions,
    check_strides,
    ptx_version,
)
from triptych.targets.nvptx.toolchain.assembling import toolchain
from triptych.targets.nvptx.toolchain.programs import Ptxas, disassemble

SM_80 = ARCHITECTURES["sm_80"]
NOTHING = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n"

each_assembler = pytest.mark.parametrize("assembler", INSTALLED, ids=lambda assembler: assembler.name)


class Old:
    """An assembler of another time."""

    name = "old"

    def __init__(self, version: tuple[int, int] | None) -> None:
        self._version = version

    def version(self) -> tuple[int, int] | None:
        return self._version

    def assemble(self, ptx: str, architecture: Architecture, options: AssemblerOptions) -> Assembled:
        raise NotImplementedError


@tt.kernel
def doubled(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    a[t] = a[t] * 2.0


@tt.jit
def double(a: cute.Tensor) -> None:
    doubled(a).launch(grid=1, block=32)


@each_assembler
@pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
def test_ptx_becomes_a_cubin(assembler: Assembler, opt_level: int) -> None:
    assembled = assembler.assemble(NOTHING, SM_80, AssemblerOptions(opt_level))
    assert assembled.cubin.startswith(b"\x7fELF")
    assert "nothing" in assembled.report


@each_assembler
def test_a_refusal_has_the_words_of_the_assembler(assembler: Assembler) -> None:
    with pytest.raises(AssemblerError) as caught:
        assembler.assemble(NOTHING.replace("ret;", "retreat;"), SM_80, AssemblerOptions())
    assert "retreat" in caught.value.found
    assert "triptych-" not in caught.value.found  # the folder that only existed for a moment


@each_assembler
def test_both_give_the_same_program(assembler: Assembler) -> None:
    with override(assembler=assembler.name):
        compiled = tt.compile(tt.jit(double.function), vector(), target="nvptx:sm_80")
    assert set(compiled.resources) == {"doubled"}
    assert compiled.resources["doubled"].spill_stores == 0


@pytest.mark.parametrize(
    ("version", "ptx"), [((12, 3), 83), ((12, 6), 85), ((12, 9), 88), ((13, 0), 90), ((13, 9), 90), ((14, 1), 90)]
)
def test_ptx_is_what_both_llvm_and_the_assembler_know(version: tuple[int, int], ptx: int) -> None:
    assert ptx_version(Old(version), SM_80) == ptx


@pytest.mark.parametrize(("version", "name"), [((12, 6), "sm_100a"), ((12, 8), "sm_103a"), ((11, 8), "sm_80")])
def test_an_assembler_too_old_for_the_architecture_is_refused(version: tuple[int, int], name: str) -> None:
    with pytest.raises(AssemblerError, match=f"old is too old for {name}"):
        ptx_version(Old(version), ARCHITECTURES[name])


def test_strides_of_tensor_maps_are_in_bytes_for_newer_assemblers() -> None:
    ptx = "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r1], 0, %rd1;"
    check_strides(ptx, Old((12, 5)))
    check_strides("ret;", Old((12, 4)))
    with pytest.raises(AssemblerError, match="old is too old for kernels that change tensor maps"):
        check_strides(ptx, Old((12, 4)))


# what is missing ------------------------------------------------------------------------------------------------
def test_without_an_assembler_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembling, "ASSEMBLERS", (Old(None),))
    with pytest.raises(MissingToolError) as caught:
        tt.compile(tt.jit(double.function), vector(), target="nvptx:sm_80")
    assert caught.value.instead == "pip install 'triptych[cuda]'"


def test_an_unknown_assembler_is_refused() -> None:
    known = tuple(assembler.name for assembler in assembling.ASSEMBLERS)
    assert next(row for row in TABLE if row.name == "assembler").words == (*known, "driver")
    with pytest.raises(SettingError, match="assembler has no usable value"), override(assembler="masm"):
        pass


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of NVIDIA is installed."""
    questions = (locate.find_program, locate.program, locate.libdevice)
    for question in questions:
        question.cache_clear()
    monkeypatch.setattr(locate, "load", lambda module: None)
    monkeypatch.setattr(locate, "_TOOLKIT", Path("nowhere"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    yield
    for question in questions:
        question.cache_clear()


@pytest.mark.usefixtures("bare_machine")
def test_without_programs_the_extra_is_named() -> None:
    with pytest.raises(MissingToolError, match="the program nvdisasm is needed") as caught:
        disassemble(b"")
    assert caught.value.instead == "pip install 'triptych[cuda-tools]'"


@pytest.mark.usefixtures("bare_machine")
def test_without_libdevice_the_extra_is_named() -> None:
    with pytest.raises(MissingToolError, match="libdevice") as caught:
        locate.libdevice()
    assert caught.value.instead == "pip install 'triptych[cuda]'"


# what is seen of a compiled function ----------------------------------------------------------------------------
@needs_assembler
@needs_disassembler
def test_a_compiled_function_shows_ptx_cubin_and_sass() -> None:
    compiled = tt.compile(double, vector(), target="nvptx:sm_80")
    assert compiled.asm == compiled.__ptx__
    assert compiled.__cubin__.startswith(b"\x7fELF")
    counts = instruction_counts(compiled.__sass__)["doubled"]
    assert counts["LDG.E"] == counts["STG.E"] == 1
    assert "NOP" not in counts


@needs_assembler
def test_a_call_without_a_gpu_says_so() -> None:
    compiled = tt.compile(double, vector(), target="nvptx:sm_80")
    with pytest.raises(NoGpuError) as caught:
        compiled(None)
    assert caught.value.span is not None
    assert caught.value.span.file == __file__


@needs_assembler
def test_the_toolchain_is_part_of_what_decides_the_code() -> None:
    assert set(toolchain()) > {"llvmlite", "torch-mlir"}


def test_code_that_counts_registers_goes_to_the_assembler_that_honours_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """nvJitLink ignores `setmaxnreg` for the sake of units that it might be linked with."""
    plain, counting = NOTHING, NOTHING.replace("ret;", "setmaxnreg.inc.sync.aligned.u32 232; ret;")
    usual, program = Old((13, 0)), Ptxas()
    monkeypatch.setattr(assembling, "ASSEMBLERS", (usual, program))
    for version, chosen in (((13, 0), program), (None, usual), ((12, 0), usual)):
        monkeypatch.setattr(programs, "_version", lambda version=version: version)
        assert assembling.assembler_for(plain, ARCHITECTURES["sm_90a"]) is usual
        assert assembling.assembler_for(counting, ARCHITECTURES["sm_90a"]) is chosen


@each_assembler
def test_words_of_the_user_reach_the_assembler(assembler: Assembler) -> None:
    with override(assembler=assembler.name):
        tt.compile[cute.PtxasOptions("--maxrregcount=24 --warn-on-spills")](double, vector(), target="nvptx:sm_80")
        with pytest.raises(AssemblerError, match="no-such-word"):
            tt.compile[cute.PtxasOptions("--no-such-word")](double, vector(), target="nvptx:sm_80")

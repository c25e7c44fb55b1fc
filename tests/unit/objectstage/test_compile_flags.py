"""Compile options as objects and as text mean the same, and on the CPU most change nothing."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from triptych.cute import (
    EnableAssertions,
    EnableTVMFFI,
    GenerateLineInfo,
    GPUArch,
    KeepCUBIN,
    KeepPTX,
    OptLevel,
    PtxasOptions,
)
from triptych.objectstage.compile_flags import FLAGS, flags_in, flags_of, options_of
from triptych.objectstage.errors import UnknownOptionError, UnknownTargetError


@tt.jit
def double(x: tt.Int32) -> Any:
    return x * 2


@pytest.mark.parametrize(
    ("given", "text", "options"),
    [
        (OptLevel(1), "--opt-level 1", {"opt_level": 1}),
        ((GenerateLineInfo, KeepPTX), "--generate-line-info --keep-ptx", {"line_info": True, "keep_assembly": True}),
        (GenerateLineInfo(False), "--generate-line-info=false", {"line_info": False}),
        (KeepCUBIN(), "--keep-cubin=1", {"keep_binary": True}),
        (PtxasOptions("-v -O1"), "--ptxas-options '-v -O1'", {"ptxas_options": "-v -O1"}),
        (GPUArch("sm_90a"), "--gpu-arch=sm_90a", {"target": "nvptx:sm_90a"}),
        (EnableTVMFFI, "--enable-tvm-ffi", {}),
        (EnableAssertions, "--enable-assertions", {}),
        (
            (OptLevel(0), (KeepPTX, OptLevel(2))),
            "--opt-level=0 --keep-ptx --opt-level=2",
            {"opt_level": 2, "keep_assembly": True},
        ),
        ((), "", {}),
    ],
)
def test_objects_and_text_mean_the_same(given: Any, text: str, options: dict[str, Any]) -> None:
    assert options_of(flags_of(given)) == options_of(flags_in(text)) == options


def test_compiled_function_is_the_same_function() -> None:
    for compiler in (tt.compile, tt.compile[OptLevel(1)], tt.compile[GenerateLineInfo(True), KeepPTX][KeepCUBIN]):
        assert compiler(double, 3)(21) == 42
    assert tt.compile(double, 3, options="--opt-level 0 --enable-tvm-ffi")(21) == 42
    assert tt.compile(double, 3, options=None)(21) == 42


@tt.jit
def asserted(x: tt.Int32) -> Any:
    assert x > 0, "not positive"
    return x


@pytest.mark.parametrize("options", ["", "--enable-assertions", "--enable-assertions=false"])
def test_assertions_are_checked_with_and_without_the_option(options: str) -> None:
    with pytest.raises(AssertionError, match="not positive"):
        tt.compile(asserted, 1, options=options)(-1)


def test_level_reaches_the_code_generator() -> None:
    assert tt.compile[OptLevel(0)](double, 1).asm != tt.compile(double, 1).asm


def test_keyword_wins() -> None:
    assert tt.compile[OptLevel(0)](double, 1, opt_level=3).asm == tt.compile(double, 1).asm


def test_architecture_is_a_target() -> None:
    with pytest.raises((UnknownTargetError, tt.TriptychError)):
        tt.compile(double, 1, options="--gpu-arch=sm_1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--opt-level x", "no usable value"),
        ("--opt-level", "no usable value"),
        ("--keep-ptxx", "did you mean 'keep-ptx'"),
    ],
)
def test_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(UnknownOptionError, match=message):
        tt.compile(double, 1, options=text)


@pytest.mark.parametrize("given", [3, OptLevel, "keep-ptx"])
def test_wrong_object_is_refused(given: Any) -> None:
    with pytest.raises(UnknownOptionError, match="no compile option"):
        tt.compile[given]


def test_value_has_the_kind_of_the_flag() -> None:
    with pytest.raises(UnknownOptionError, match="another kind of value"):
        OptLevel("1")
    assert repr(OptLevel(1)) == "OptLevel(1)"


def test_words_are_different() -> None:
    assert len({flag.word for flag in FLAGS}) == len(FLAGS)


# names of generated code ------------------------------------------------------------------------------------------
def test_prefix_of_names() -> None:
    @tt.kernel
    def work() -> None:
        pass

    @tt.jit
    def start() -> None:
        work.set_name_prefix("device")
        work().launch(grid=1, block=1)

    start.set_name_prefix("host")
    text = start.compile().__mlir__
    assert "func.func @host_start(" in text
    assert "gpu.func @device_work(" in text


def test_decorator_names_the_target() -> None:
    """Also for calls, where a target that the machine cannot run is refused instead of forgotten."""
    f = tt.jit(target="nvptx:sm_80")(lambda n: n + 1)
    assert tt.compile(f, 1).target == "nvptx:sm_80"
    assert f.compile(1).target == "nvptx:sm_80"
    assert tt.compile(f, 1, target="cpu")(1) == 2
    assert "'nvptx:sm_80'" in str(f.explain_key(1))


def test_decorator_refuses_an_unknown_target() -> None:
    with pytest.raises(UnknownTargetError):
        tt.jit(target="cpuu")(lambda n: n)

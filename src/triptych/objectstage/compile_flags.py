"""Compile options as objects, `compile[OptLevel(1), KeepPTX](f)`, and as text, `options="--opt-level 1 --keep-ptx"`.

Input: flags or a command line. Output: options by name. What only a GPU's code generator or assembler can do (line
tables, PTX and cubin files) is kept in the options and changes nothing on the CPU.
"""

from __future__ import annotations

import shlex
from typing import Any, ClassVar

from triptych.objectstage.errors import UnknownOptionError
from triptych.support.wording import did_you_mean


class CompileFlag:
    """One option. `word` is its spelling in text, `option` its name among the compile options."""

    __slots__ = ("value",)
    word: ClassVar[str]
    option: ClassVar[str]
    kind: ClassVar[type]

    def __init__(self, value: object = True) -> None:
        if type(value) is not self.kind:
            raise UnknownOptionError(
                f"{type(self).__name__} takes another kind of value",
                found=f"{type(self).__name__}({value!r})",
                expected=f"a value of type {self.kind.__name__}",
            )
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


class OptLevel(CompileFlag):
    """How much the code generator optimises, 0 to 3."""

    word, option, kind = "opt-level", "opt_level", int


class Contract(CompileFlag):
    """Let a product and a sum be one operation with one rounding, or never, in all functions of a program."""

    word, option, kind = "contract", "contract", bool


class AsyncOrder(CompileFlag):
    """When copies and products that go on by themselves are done on the CPU: "early", "late" or "seed:<n>"."""

    word, option, kind = "async", "async_order", str


class GenerateLineInfo(CompileFlag):
    """Let profilers and debuggers of a GPU find the line of an instruction."""

    word, option, kind = "generate-line-info", "line_info", bool


class KeepPTX(CompileFlag):
    """Keep the PTX text as a file."""

    word, option, kind = "keep-ptx", "keep_assembly", bool


class KeepCUBIN(CompileFlag):
    """Keep the binary for the GPU as a file."""

    word, option, kind = "keep-cubin", "keep_binary", bool


class KeepAssembly(CompileFlag):
    """Keep the assembly of any device as a file."""

    word, option, kind = "keep-assembly", "keep_assembly", bool


class KeepBinary(CompileFlag):
    """Keep what any device loads as a file."""

    word, option, kind = "keep-binary", "keep_binary", bool


class PtxasOptions(CompileFlag):
    """Further words for NVIDIA's assembler: `PtxasOptions("--maxrregcount=128")`."""

    word, option, kind = "ptxas-options", "ptxas_options", str


class GPUArch(CompileFlag):
    """Compile for an architecture of NVIDIA: `GPUArch("sm_90a")` is the target `nvptx:sm_90a`."""

    word, option, kind = "gpu-arch", "target", str


class EnableAssertions(CompileFlag):
    """Check each `assert` at run time; all are checked, so that `False` changes nothing either."""

    word, option, kind = "enable-assertions", "", bool


class EnableTVMFFI(CompileFlag):
    """Let compiled functions be called through TVM FFI; all are."""

    word, option, kind = "enable-tvm-ffi", "", bool


FLAGS: tuple[type[CompileFlag], ...] = (
    OptLevel,
    Contract,
    AsyncOrder,
    GenerateLineInfo,
    KeepPTX,
    KeepCUBIN,
    KeepAssembly,
    KeepBinary,
    PtxasOptions,
    GPUArch,
    EnableAssertions,
    EnableTVMFFI,
)


def flags_of(given: object) -> tuple[CompileFlag, ...]:
    """What stands between the brackets of `compile[...]`: flags, tuples of them, and classes of flags that are on."""
    if isinstance(given, tuple):
        return tuple(flag for item in given for flag in flags_of(item))
    if isinstance(given, type) and issubclass(given, CompileFlag) and given.kind is bool:
        return (given(),)
    if isinstance(given, CompileFlag):
        return (given,)
    raise UnknownOptionError(
        "this is no compile option",
        found=f"compile[{given!r}]",
        expected=", ".join(flag.__name__ for flag in FLAGS),
    )


def flags_in(text: str) -> tuple[CompileFlag, ...]:
    """The flags of a command line: `--word`, `--word value` or `--word=value`."""
    words = {flag.word: flag for flag in FLAGS}
    found: list[CompileFlag] = []
    items = iter(shlex.split(text))
    for item in items:
        word, _, value = item.removeprefix("--").partition("=")
        flag = words.get(word)
        if flag is None:
            raise UnknownOptionError(
                f"there is no compile option --{word}",
                found=f"options={text!r}",
                expected=" ".join(f"--{known}" for known in words),
                instead=did_you_mean(word, list(words)),
            )
        found.append(_flag(flag, value or ("true" if flag.kind is bool else next(items, ""))))
    return tuple(found)


def options_of(flags: tuple[CompileFlag, ...]) -> dict[str, Any]:
    """The flags as options by name; the last of several wins."""
    options = {flag.option: flag.value for flag in flags if flag.option}
    if "target" in options:
        options["target"] = f"nvptx:{options['target']}"
    return options


def _flag(flag: type[CompileFlag], text: str) -> CompileFlag:
    try:
        return flag(_BOOLEANS[text.lower()] if flag.kind is bool else flag.kind(text))
    except (ValueError, KeyError):
        raise UnknownOptionError(
            f"--{flag.word} has no usable value", found=repr(text), expected=f"a value of type {flag.kind.__name__}"
        ) from None


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

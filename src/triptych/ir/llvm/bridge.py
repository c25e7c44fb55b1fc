"""MLIR's LLVM dialect to LLVM IR text that llvmlite's older LLVM reads.

Input: a fully lowered module. Output: text. MLIR carries LLVM 24 and llvmlite LLVM 22, and text is the one form both
sides keep stable; only float literals and one module flag have to be rewritten. What the next LLVM writes is not known,
so another one is refused.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from triptych.ir import bindings
from triptych.ir.errors import LoweringError, PackageVersionError
from triptych.ir.handles import Diagnostic, Module, Operation
from triptych.ir.location import spans_of
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """An IEEE-like format: its LLVM type name, widths of exponent and mantissa, and how LLVM 22 spells its bits."""

    name: str
    exponent: int
    mantissa: int
    spelling: Callable[[int], str]

    @property
    def sign(self) -> int:
        return 1 << (self.exponent + self.mantissa)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa


def _spell_float(bits: int) -> str:
    """LLVM spells a `float` by the bits of the `double` of equal value; NaN payloads shift with the mantissa."""
    sign, exponent, mantissa = bits >> 31, (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        return f"0x{sign << 63 | 0x7FF << 52 | mantissa << 29:016X}"
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return f"0x{_double_bits(value):016X}"


FORMATS = {
    spec.name: spec
    for spec in (
        FloatFormat("half", 5, 10, lambda bits: f"0xH{bits:04X}"),
        FloatFormat("bfloat", 8, 7, lambda bits: f"0xR{bits:04X}"),
        FloatFormat("float", 8, 23, _spell_float),
        FloatFormat("double", 11, 52, lambda bits: f"0x{bits:016X}"),
    )
}

_TOKENS = re.compile(
    r"""
      "(?:[^"\\]|\\.)*"                 # a string or a quoted name: skipped as a whole
    | [%@!#$][-\w$.]*                   # a name: skipped
    | ;[^\n]*                           # a comment: skipped
    | \b(?P<type>half|bfloat|float|double)\b
    | (?<![\w.$%@])
      (?P<literal>
          [+-]?\d+\.\d*(?:e[+-]?\d+)?
        | [+-]?inf\b
        | [+-]?[qs]?nan\b(?:\(0x[0-9A-Fa-f]+\))?
        | f0x[0-9A-Fa-f]+
      )
    """,
    re.VERBOSE,
)


_HINT = re.compile(r"\d\.(?![a-df-z])|inf\b|nan\b|f0x")
"""What every literal contains, and few names do: looking for this is ten times faster than reading tokens."""


def downgrade_float_literals(text: str) -> str:
    """The same program with every float literal spelled as bits that LLVM 22 reads.

    Few of a kernel's tens of thousands of lines have even the letters of a literal. Bits have none of them, so a line
    may be read twice.
    """
    lines = text.splitlines(keepends=True)
    for letters in filter(text.__contains__, (".", "inf", "nan", "f0x")):
        for number, line in enumerate(lines):
            if letters in line:
                lines[number] = _downgrade_line(line)
    return "".join(lines)


def _downgrade_line(line: str) -> str:
    if _HINT.search(line) is None:
        return line
    current: FloatFormat | None = None

    def rewrite(match: re.Match[str]) -> str:
        nonlocal current
        if match["type"]:
            current = FORMATS[match["type"]]
        elif match["literal"] and current is not None:
            return current.spelling(literal_bits(current, match["literal"]))
        return match[0]

    return _TOKENS.sub(rewrite, line)


def literal_bits(spec: FloatFormat, literal: str) -> int:
    """The bits of a literal as LLVM 24 prints it for a value of this format."""
    if literal.startswith("f0x"):
        return int(literal[3:], 16)
    sign = spec.sign if literal.startswith("-") else 0
    magnitude = literal.lstrip("+-")
    if magnitude == "inf":
        return sign | spec.infinity
    if "nan" in magnitude:
        return sign | spec.infinity | _nan_payload(spec, magnitude)
    return _rounded_bits(spec, float(literal))


def _nan_payload(spec: FloatFormat, magnitude: str) -> int:
    quiet = 0 if magnitude.startswith("snan") else 1 << (spec.mantissa - 1)
    _, _, payload = magnitude.partition("(0x")
    return quiet | (int(payload.rstrip(")"), 16) if payload else 0)


def _rounded_bits(spec: FloatFormat, value: float) -> int:
    if spec.name == "double":
        return _double_bits(value)
    if spec.name == "half":
        return int.from_bytes(struct.pack("<e", value), "little")
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if spec.name == "float":
        return bits
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def _double_bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


WRITTEN_BY = 24
"""The LLVM inside MLIR whose text this module knows."""
RELEASES = "torch-mlir>=20261001,<20270101"
"""Those that carry it: development of the next LLVM begins every January and July."""
_DEBUG_FLAG = '!"Debug Info Version"'
_ALIGNED = ".aligned"
_TOGETHER = re.compile(r'(\basm (?:sideeffect )?"[^"]*\.aligned[^"]*", "[^"]*"\([^()]*\))')
_MODULE_FLAGS = "!llvm.module.flags ="


def to_llvm_ir(module: Module) -> str:
    """The module as LLVM 22 text."""
    return with_convergent_assembly(without_unused_debug_flag(downgrade_float_literals(translate(module))))


def translate(module: Module) -> str:
    """The module as the LLVM inside MLIR prints it. The Python binding for this crashes on what it cannot translate."""
    problems: list[LoweringError] = []
    handler = module.context.attach_diagnostic_handler(lambda diagnostic: _collect(diagnostic, problems))
    try:
        text = _c_interface().translate(module.operation)
    finally:
        handler.detach()
    if text is None:
        raise problems[0] if problems else LoweringError("cannot translate the module to LLVM IR")
    return text


def without_unused_debug_flag(text: str) -> str:
    """Drop the flag that MLIR always adds: with it and no debug info, LLVM aborts on invalid IR instead of raising.

    It is searched for, not met in a walk over the lines: there are tens of thousands.
    """
    if "DICompileUnit" in text:
        return text
    dropped: set[str] = set()
    while (found := text.find(_DEBUG_FLAG)) >= 0:
        begin, end = _line_at(text, found)
        dropped.add(text[begin:end].split(" ", 1)[0])
        text = text[:begin] + text[end:]
    references = text.find(_MODULE_FLAGS)
    if not dropped or references < 0:
        return text
    begin, end = _line_at(text, references)
    return text[:begin] + _without_references(text[begin:end], dropped) + text[end:]


def with_convergent_assembly(text: str) -> str:
    """Mark inline assembly that all threads of a warp execute together: MLIR has no word for it, and LLVM would write
    it twice where one copy of a branch comes to it and another does not. A pattern that looks for them in megabytes of
    text would take a fifth of lowering."""
    parts, done = [], 0
    while (found := text.find(_ALIGNED, done)) >= 0:
        begin, end = _line_at(text, found)
        parts += [text[done:begin], _TOGETHER.sub(r"\1 convergent", text[begin:end])]
        done = end
    return "".join([*parts, text[done:]])


def _line_at(text: str, place: int) -> tuple[int, int]:
    """Where the line of a place begins, and where the next one does."""
    end = text.find("\n", place)
    return text.rfind("\n", 0, place) + 1, len(text) if end < 0 else end + 1


def _without_references(line: str, dropped: set[str]) -> str:
    head, _, body = line.partition("!{")
    references = [name.strip() for name in body.rstrip().removesuffix("}").split(",")]
    kept = [name for name in references if name not in dropped]
    return f"{head}!{{{', '.join(kept)}}}\n" if kept else ""


def _collect(diagnostic: Diagnostic, problems: list[LoweringError]) -> bool:
    spans = spans_of(diagnostic.location)
    problems.append(
        LoweringError(
            "cannot translate the module to LLVM IR",
            span=spans[0] if spans else None,
            found=diagnostic.message,
        )
    )
    return True


class _Operation(ctypes.Structure):
    """`MlirOperation` of the C interface: a struct of one pointer, passed by value."""

    _fields_ = [("pointer", ctypes.c_void_p)]


class _TranslationInterface:
    """The handful of C functions that translate without crashing: a null result says no."""

    def __init__(self, library: ctypes.CDLL) -> None:
        pointer = ctypes.c_void_p
        self._translate = _function(library, "mlirTranslateModuleToLLVMIR", pointer, _Operation, pointer)
        self._create_context = _function(library, "LLVMContextCreate", pointer)
        self._dispose_context = _function(library, "LLVMContextDispose", None, pointer)
        self._print = _function(library, "LLVMPrintModuleToString", pointer, pointer)
        self._dispose_message = _function(library, "LLVMDisposeMessage", None, pointer)
        self._dispose_module = _function(library, "LLVMDisposeModule", None, pointer)

    def translate(self, operation: Operation) -> str | None:
        context = self._create_context()
        try:
            module = self._translate(_raw(operation), context)
            if not module:
                return None
            message = self._print(module)
            text = ctypes.string_at(message).decode()
            self._dispose_message(message)
            self._dispose_module(module)
            return text
        finally:
            self._dispose_context(context)


@cache
def _c_interface() -> _TranslationInterface:
    library = ctypes.PyDLL(str(bindings.mlir_library()))
    check_version(_version(library))
    return _TranslationInterface(library)


def check_version(found: int) -> None:
    """Refuse an LLVM inside MLIR whose text is not known."""
    if found != WRITTEN_BY:
        raise PackageVersionError(
            "torch-mlir is of a version that this one of Triptych does not know",
            found=f"torch-mlir {bindings.versions()['torch-mlir']}, with LLVM {found}",
            expected=f"one with LLVM {WRITTEN_BY}, whose text the LLVM of llvmlite reads",
            instead=f"pip install '{RELEASES}'",
        )


def _version(library: ctypes.CDLL) -> int:
    numbers = [ctypes.c_uint() for _ in ("major", "minor", "patch")]
    library.LLVMGetVersion(*map(ctypes.byref, numbers))
    return numbers[0].value


def _function(library: ctypes.CDLL, name: str, result: object, *parameters: object) -> Any:
    function = getattr(library, name)
    function.restype = result
    function.argtypes = list(parameters)
    return function


def _raw(operation: Operation) -> _Operation:
    capsule = operation._CAPIPtr
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return _Operation(pointer(capsule, name(capsule)))

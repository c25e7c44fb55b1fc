"""Export for the CPU: compiled code to the object file, and header, of a program that runs without Python.

Input: a compiled function, the names that the user wants. Output: the contents of files. LLVM joins the program with
the runtime and the entry of its interface, and generates position-independent code for a linker.
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import replace

from triptych.diagnostics.check_errors import unpack
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.exports import Export, ExportError
from triptych.stages import Compiled, Lowered, Traced
from triptych.support.tracebacks import caller
from triptych.support.wording import did_you_mean
from triptych.targets.cpu.abi.abi import entry_symbol
from triptych.targets.cpu.abi.system import system
from triptych.targets.cpu.calling.calling_python import RAISE, WRITE
from triptych.targets.cpu.code_generation import ANY_MACHINE, THIS_MACHINE
from triptych.targets.cpu.export.c_entry import BODY, ENTRY, c_entry, exported_names
from triptych.targets.cpu.export.c_interface import CFunction, c_parameters, header, pattern_symbol, share_symbol
from triptych.targets.cpu.export.device_code import device_code
from triptych.targets.cpu.export.native_code import native_code
from triptych.targets.cpu.export.native_error_code import explaining_code
from triptych.targets.cpu.export.packed_entry import packed_entry
from triptych.targets.cpu.export.tvm_ffi_entry import LARGE_INTEGERS, tvm_ffi_entry
from triptych.targets.cpu.passes.poll_loops import POLL
from triptych.targets.cpu.runtime.compiler_builtins import with_builtins

_NATIVE = {
    RAISE: "declare void @{name}(ptr, ptr, i64, i64, i64)",
    WRITE: "declare i32 @{name}(ptr, i64)",
    POLL: "declare i32 @{name}(ptr)",
}
"""What `native_code` defines."""
_PROCESSORS = {
    "x86_64": ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"),
    "aarch64": ("generic", "neoverse-n1", "neoverse-v1", "neoverse-n2", "neoverse-v2"),
}
"""The oldest ones that code may be wanted for, by the machine: levels of x86-64, and what clouds have of ARM."""
_CHECK = re.compile(r'^(@triptych\.check\d+) = internal constant \[\d+ x i8\] c"(.*)\\00"', re.MULTILINE)


def program_text(lowered: Lowered) -> str:
    """The module of the program, whose entry and body are called `ENTRY` and `BODY`."""
    text = with_builtins(lowered.llvm)
    for name, declaration in _NATIVE.items():
        definition = re.compile(rf"^define internal [^\n]*@{re.escape(name)}\(.*?^}}\n", re.MULTILINE | re.DOTALL)
        text = definition.sub(declaration.format(name=name) + "\n", text)
    text = _renamed(_renamed(text, lowered.entry, ENTRY), f"{lowered.traced.name}.body", BODY)
    text = text.replace(f"define internal {_returned(text)} @{BODY}(", f"define {_returned(text)} @{BODY}(")
    return _CHECK.sub(_readable, text)


def body_types(text: str) -> tuple[str, ...]:
    """The types of the parameters of the body."""
    found = re.search(rf"^define [^\n]*@{re.escape(BODY)}\((.*)\)[^)]*{{$", text, re.MULTILINE)
    assert found is not None, "the last pass has written it"
    parameters = re.findall(r"(ptr addrspace\(\d+\)|\w+)(?: \w+)* %\d+", found[1])
    return tuple(parameters)


def _returned(text: str) -> str:
    found = re.search(rf"^define internal (.*) @{re.escape(BODY)}\(", text, re.MULTILINE)
    return found[1] if found is not None else "i32"


def _renamed(text: str, name: str, new: str) -> str:
    """LLVM quotes names with other characters than those of C."""
    return re.sub(rf'@(?:{re.escape(name)}\b(?!\.)|"{re.escape(name)}")', f"@{new}", text)


def _readable(found: re.Match[str]) -> str:
    """The facts of a check as one line; the path of its file says nothing on other machines."""
    packed = re.sub(rb"\\([0-9A-F]{2})", lambda byte: bytes([int(byte[1], 16)]), found[2].encode()).decode()
    if not packed.startswith("{"):
        return found[0]
    facts = unpack(packed)
    span = facts.get("span")
    place = f"{os.path.basename(span.file)}:{span.line}: " if span is not None else ""
    details = [f"{name} {facts[name]}" for name in ("found", "expected") if facts.get(name)]
    data = f"{place}{facts['title']}{''.join(f'; {detail}' for detail in details)}".encode()
    escaped = "".join(f"\\{byte:02X}" for byte in (*data, 0))
    return f'{found[1]} = internal constant [{len(data) + 1} x i8] c"{escaped}"'


def export(compiled: Compiled, wanted: Export) -> dict[str, bytes]:
    """Contents by the suffix of the file."""
    traced = compiled.lowered.traced
    _check(traced)
    program = program_text(compiled.lowered)
    explaining = explaining_code(traced.parameters)
    device, machine = wanted.device, machine_of(wanted)
    ours = () if device is None else (device_code(wanted.name, device),)
    if wanted.interface == "packed":
        packed = packed_entry(wanted.name)
        parts = (native_code(), explaining, *packed.modules)
        return {".o": _object(compiled, program, parts, packed.exports, machine)}
    if wanted.interface == "tvm_ffi":
        called = tvm_ffi_entry(wanted, traced.parameters)
        names = (entry_symbol(wanted.name), share_symbol(wanted.name), pattern_symbol(wanted.name))
        return {".o": _object(compiled, program, (native_code(), explaining, called, *ours), names, machine)}
    result = traced.results[0] if traced.results else None
    leaves = traced.parameters if device is None else traced.parameters[:-1]
    parameters = tuple(c_parameters(leaves, wanted.addresses))
    target = "cpu" if device is None else device.target
    function = CFunction(wanted.name, parameters, result, target, traced.prints)
    entry = c_entry(function, body_types(program), () if device is None else device.kernels)
    modules = (native_code(), explaining, entry, LARGE_INTEGERS, *ours)
    return {
        ".o": _object(compiled, program, modules, exported_names(wanted.name), machine),
        ".h": header(function, traced.signature).encode(),
    }


def machine_of(wanted: Export) -> Request:
    """What code is generated for."""
    if wanted.cpu:
        return Request(cpu=_known_processor(wanted.cpu), features="")
    return THIS_MACHINE if wanted.device is None else ANY_MACHINE


def _known_processor(name: str) -> str:
    known = _PROCESSORS.get(platform.machine(), ())
    if name in known:
        return name
    raise ExportError(
        "no code is generated for this processor",
        span=caller(),
        found=f"cpu={name!r}",
        expected=", ".join(known) or f"none to be chosen on {platform.machine()}",
        instead=did_you_mean(name, known),
    )


def _object(
    compiled: Compiled, program: str, modules: tuple[str, ...], exports: tuple[str, ...], machine: Request
) -> bytes:
    request = replace(
        machine,
        opt_level=compiled.options["opt_level"],
        emit=("object",),
        modules=modules,
        exports=exports,
        position_independent=True,
    )
    return shared_pool().compile(request, program).object


def _check(traced: Traced) -> None:
    if len(traced.results) > 1:
        raise ExportError(
            f"{traced.name} gives several results, and an exported function gives one at most",
            found=traced.signature,
            expected="no result, or one number",
            instead="a tensor argument, to whose elements the function writes the others",
        )
    if not system().exports:
        raise ExportError("exported objects are ELF files for Linux", expected="to be exported on Linux")

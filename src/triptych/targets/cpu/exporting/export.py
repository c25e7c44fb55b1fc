"""Exporting for the CPU: compiled code to the object file, and header, of a program that runs without Python.

Input: a compiled function, the names that the user wants. Output: the contents of files. LLVM joins the program with
the runtime and the entry of its interface, and generates position-independent code for a linker.
"""

from __future__ import annotations

from dataclasses import replace

from triptych.ir.worker import Request, shared_pool
from triptych.objectstage.exports import Export, ExportError
from triptych.stages import Compiled, Traced
from triptych.targets.cpu.calling.abi import entry_symbol
from triptych.targets.cpu.code_generation import ANY_MACHINE, THIS_MACHINE
from triptych.targets.cpu.exporting.c_entry import c_entry, exported_names
from triptych.targets.cpu.exporting.c_header import header
from triptych.targets.cpu.exporting.c_interface import CFunction, c_parameters
from triptych.targets.cpu.exporting.codes import share_symbol
from triptych.targets.cpu.exporting.device_code import device_code
from triptych.targets.cpu.exporting.explaining import explaining_code
from triptych.targets.cpu.exporting.native_code import native_code
from triptych.targets.cpu.exporting.program import body_types, program_text
from triptych.targets.cpu.exporting.tvm_ffi_entry import LARGE_INTEGERS, tvm_ffi_entry
from triptych.targets.cpu.runtime.system import system


def export(compiled: Compiled, wanted: Export) -> dict[str, bytes]:
    """Contents by the suffix of the file."""
    traced = compiled.lowered.traced
    _check(traced)
    program = program_text(compiled.lowered)
    explaining = explaining_code(traced.parameters)
    device, machine = wanted.device, THIS_MACHINE if wanted.device is None else ANY_MACHINE
    ours = () if device is None else (device_code(wanted.name, device),)
    if wanted.is_tvm_ffi:
        called = tvm_ffi_entry(wanted.name, traced.parameters, on_device=device is not None)
        names = (entry_symbol(wanted.name), share_symbol(wanted.name))
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

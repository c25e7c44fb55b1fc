"""Shared libraries of operators: written by `export`, and completed in Python by `load`.

Input: operators with their specializations, or the path of a library. A library registers its kernels when it is
loaded, in any program that has LibTorch; fake kernels and gradients are Python, and come from a description in it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import inspect
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from triptych.compat.torch import torch
from triptych.diagnostics.tensor_errors import OperatorLibraryError
from triptych.driver.boundary import api_boundary
from triptych.driver.compiling import CompiledFunction
from triptych.frameworks.boxed_libraries import (
    DESCRIPTION,
    LibraryEntry,
    LibraryOperator,
    library_module,
)
from triptych.frameworks.native_operators import constants_of, dlpack_types, fits_boxed_call, form_of
from triptych.frameworks.operator_borders import resolve_lazy, unfollowed, without_memory
from triptych.frameworks.operator_gradients import Backward, following
from triptych.frameworks.operator_results import kernels
from triptych.frameworks.operator_signatures import OperatorParameter, OperatorSignature
from triptych.frameworks.torch_operators import Operator, operator_of
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.exports import Export
from triptych.support.config import process_environment
from triptych.support.source import Span
from triptych.support.tracebacks import caller
from triptych.targets.cpu.export.export import machine_of

_VERSION = 1
"""Of the description."""
_LOADED: dict[str, Any] = {}
"""What keeps registrations of loaded libraries, by their paths."""


# writing --------------------------------------------------------------------------------------------------------------
@api_boundary
def export(path: str | os.PathLike[str], ops: Sequence[Operator], *, cpu: str = "") -> None:
    """Write a shared library that registers operators in any program with LibTorch 2.10 or later.

    It has the specializations that each operator has been compiled for: by calls, or by `op.compile(...)`. Operators
    that compute gradients go with the ones that they belong to. `cpu` is the oldest processor that has to run it, such
    as `x86-64-v3`. Linking needs a C compiler: `gcc` of your system, or `pip install ziglang`.
    """
    span = caller()
    path = Path(path)
    linker = _linker(span)
    every = list(_with_backward(ops))
    if not every:
        raise OperatorLibraryError("a library has at least one operator", span=span, expected="ops=[mul, ...]")
    objects: dict[str, bytes] = {}
    types: dict[str, int] = {}
    operators = [_library_operator(op, number, cpu, objects, types, span) for number, op in enumerate(every)]
    description = {"version": _VERSION, "operators": [_description(op) for op in every]}
    text = library_module(operators, types, json.dumps(description))
    machine = machine_of(Export("library", "packed", cpu=cpu))
    objects["registration"] = _object(machine, text)
    _link(linker, objects, path, span)


def _with_backward(ops: Sequence[Operator]) -> Iterator[Operator]:
    found: dict[str, Operator] = {}
    for op in ops:
        found[op.name] = op
        if op.backward is not None and isinstance(op.backward.function, Operator):
            found[op.backward.function.name] = op.backward.function
    yield from found.values()


def _library_operator(
    op: Operator, number: int, cpu: str, objects: dict[str, bytes], types: dict[str, int], span: Span | None
) -> LibraryOperator:
    form = form_of(op.signature, op.static)
    if form is None:
        raise OperatorLibraryError(
            f"the operator {op.name} cannot be in a library",
            span=span,
            found=op.schema,
            expected="tensors, int, float and bool as parameters, and results that are like one of the tensors",
            instead='`out={"c": "a"}`, and no optional tensors',
        )
    entries: list[LibraryEntry] = []
    signatures: list[str] = []
    for compiled, static in op.compiled():
        constants = constants_of(form, static)
        if constants is None or not fits_boxed_call(form, compiled):
            continue
        symbol = f"triptych_{number}_{len(entries)}_{form.name}"
        objects[symbol] = compiled.export_packed(symbol, cpu)
        entries.append(LibraryEntry(symbol, constants))
        signatures.append(str(compiled._loaded.compiled.lowered.traced.signature))
        types |= _types(compiled)
    if not entries:
        raise OperatorLibraryError(
            f"the operator {op.name} has not been compiled for any tensors",
            span=span,
            found="no specialization for the CPU",
            expected="at least one, which the library then has",
            instead='a call, or `op.compile(torch.empty(..., device="meta"), ...)`, before `export`',
        )
    unfit = f"[TT0641] {op.name} has no code for these arguments\n  = expected: " + " or ".join(signatures)
    return LibraryOperator(op.name.partition("::")[0], op.signature.schema, form, tuple(entries), unfit)


def _types(compiled: CompiledFunction) -> dict[str, int]:
    wanted = {leaf.dtype for leaf in compiled._loaded.compiled.lowered.traced.parameters if leaf.memory is not None}
    return {str(kind).partition(".")[2]: code for kind, (element, code) in dlpack_types().items() if element in wanted}


def _description(op: Operator) -> dict[str, Any]:
    backward = op.backward
    return {
        "name": op.name,
        "given": [
            [each.name, each.kind, *([] if each.default is inspect.Parameter.empty else [each.default])]
            for each in op.signature.given
        ],
        "results": dict(op.signature.results),
        "written": list(op.signature.written),
        "backward": None if backward is None else _described(backward),
    }


def _described(backward: Backward) -> list[Any] | None:
    """None for a function of Python, which a library cannot have."""
    function, gives = backward.function, backward.gives or ()
    return [function.name, [*backward.takes], [*gives]] if isinstance(function, Operator) else None


def _object(machine: Request, text: str) -> bytes:
    request = Request(
        cpu=machine.cpu, features=machine.features, emit=("object",), exports=(DESCRIPTION,), position_independent=True
    )
    return shared_pool().compile(request, text).object


# linking --------------------------------------------------------------------------------------------------------------
def _linker(span: Span | None) -> list[str]:
    """What links: `CC`, a compiler of the system, or the one that the package ziglang brings."""
    chosen = shlex.split(process_environment().get("CC", ""))
    if chosen:
        return chosen
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise OperatorLibraryError(
        "a library is linked by a C compiler, and there is none",
        span=span,
        found="no cc, gcc or clang, and no CC in the environment",
        expected="one of them",
        instead="`apt install gcc`, `conda install gcc_linux-64`, or `pip install ziglang`",
    )


def _link(linker: list[str], objects: dict[str, bytes], path: Path, span: Span | None) -> None:
    torch_libraries = Path(torch.__file__).parent / "lib"
    with TemporaryDirectory() as folder:
        files = []
        for name, content in objects.items():
            file = Path(folder, f"{name}.o")
            file.write_bytes(content)
            files.append(str(file))
        # The library names LibTorch as needed: a process that has it loaded has not made its names global.
        command = [*linker, "-shared", "-o", str(path), *files, "-Wl,--no-as-needed", f"-L{torch_libraries}"]
        ran = subprocess.run([*command, "-ltorch_cpu", "-lpthread", "-lm"], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise OperatorLibraryError(
            "the library could not be linked", span=span, found=ran.stderr.strip(), expected=shlex.join(linker)
        )


# loading --------------------------------------------------------------------------------------------------------------
@api_boundary
def load(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Load a library that `export` wrote, with fake kernels and gradients; gives the names of its operators."""
    span, file = caller(), str(Path(path).resolve())
    torch.ops.load_library(file)
    library = ctypes.CDLL(file)
    if getattr(library, DESCRIPTION, None) is None:
        raise OperatorLibraryError(
            "this is no library of operators of Triptych", span=span, found=file, expected="a file of `export`"
        )
    text = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, DESCRIPTION))).decode()
    description = json.loads(text)
    if description["version"] != _VERSION:
        raise OperatorLibraryError(
            "the library is of another version of Triptych",
            span=span,
            found=f"version {description['version']} of the description",
            expected=f"version {_VERSION}",
            instead="the library exported again",
        )
    if file not in _LOADED:
        _LOADED[file] = [_complete(each, span) for each in description["operators"]]
    return tuple(each["name"] for each in description["operators"])


def _complete(described: dict[str, Any], span: Span | None) -> Any:
    """Add to an operator what is Python."""
    name = described["name"]
    namespace, _, short = name.partition("::")
    parameters = [OperatorParameter(*each) for each in described["given"]]
    parameters += [OperatorParameter(each, "Tensor") for each in described["results"]]
    signature = OperatorSignature(short, tuple(parameters), described["results"], tuple(described["written"]))
    library = torch.library.Library(namespace, "FRAGMENT")
    _, fake = kernels(name, signature, _machine_code, span)
    torch.library.register_fake(name, without_memory(name, fake), lib=library)
    if signature.is_differentiable:
        backward = None
        if described["backward"] is not None:
            function, takes, gives = described["backward"]
            backward = Backward(operator_of(function), takes, gives)
        library.impl(short, following(name, signature, operator_of(name)._op, backward, span), "Autograd")
    elif signature.written:
        library.impl(short, unfollowed(name, signature, operator_of(name)._op), "Autograd")
        resolve_lazy(library, name, signature, operator_of(name)._op)
    return library


def _machine_code(*_: object) -> None:
    raise AssertionError("a library brings its own kernels")

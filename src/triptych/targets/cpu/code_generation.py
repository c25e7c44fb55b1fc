"""The CPU target's code generator: LLVM IR to an object file for this machine, in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cache
from typing import Any

from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.target import CompileOptions, Serialized
from triptych.stages import Compiled, Lowered
from triptych.targets.cpu.calling.python_call import with_python_call
from triptych.targets.cpu.loader import prepare
from triptych.targets.cpu.runtime.compiler_builtins import with_builtins

OBJECT = "object"
THIS_MACHINE = Request()
ANY_MACHINE = Request(cpu="", features="")
"""Every one of this architecture and system."""


def start() -> None:
    """Let a worker load LLVM while the caller loads MLIR and traces."""
    shared_pool().start()


def codegen(lowered: Lowered, options: CompileOptions, machine: Request = THIS_MACHINE) -> Compiled:
    """Compile; the packages that loading needs are imported while the worker is busy."""
    request = replace(machine, opt_level=options.opt_level)
    pending = shared_pool().submit(replace(request, emit=("object",)), _whole_text(lowered))
    prepare(lowered.traced)

    @cache
    def emit_assembly() -> str:
        return shared_pool().compile(replace(request, emit=("assembly",)), _whole_text(lowered)).assembly

    return Compiled(lowered, pending.result().object, emit_assembly, asdict(options))


def serialize(compiled: Compiled) -> Serialized:
    """The object file is all that loading needs."""
    return Serialized({OBJECT: compiled.artifact})


def deserialize(
    lowered: Lowered,
    frozen: Serialized,
    options: Mapping[str, Any],
    again: Callable[[], Compiled],
) -> Compiled:
    """Compiled code of a kept object file."""
    return Compiled(lowered, frozen.artifacts[OBJECT], lambda: again().assembly, options)


def _whole_text(lowered: Lowered) -> str:
    """The program with what it needs of our own."""
    return with_python_call(with_builtins(lowered.llvm), lowered)

"""The CPU target's code generator: LLVM IR to an object file for this machine, in a worker process."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache

from triptych.ir import bindings
from triptych.ir.worker import Request, shared_pool
from triptych.objectstage.target import CompileOptions
from triptych.stages import Compiled, Lowered
from triptych.targets.cpu.calling.loader import prepare
from triptych.targets.cpu.calling.python_call import with_python_call
from triptych.targets.cpu.runtime.float16 import with_float_helpers
from triptych.targets.cpu.runtime.int128 import with_division_helpers


def start() -> None:
    """Let a worker load LLVM while the caller loads MLIR and traces."""
    shared_pool().start()


def codegen(lowered: Lowered, options: CompileOptions) -> Compiled:
    """Compile; the packages that loading needs are imported while the worker is busy."""
    pending = shared_pool().submit(Request(opt_level=options.opt_level, emit=("object",)), _whole_text(lowered))
    prepare(lowered.traced)

    @cache
    def emit_assembly() -> str:
        return (
            shared_pool()
            .compile(Request(opt_level=options.opt_level, emit=("assembly",)), _whole_text(lowered))
            .assembly
        )

    return Compiled(lowered, pending.result().object, emit_assembly, asdict(options))


def _whole_text(lowered: Lowered) -> str:
    """The program with what it needs of our own."""
    return with_python_call(with_division_helpers(with_float_helpers(lowered.llvm)), lowered)


def host_info() -> Mapping[str, str]:
    """The machine and the tools, as far as they are known without asking LLVM."""
    return {"machine": platform.machine(), "system": sys.platform, **bindings.versions()}

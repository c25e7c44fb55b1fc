"""The NVIDIA target's code generator: LLVM IR to PTX in a worker process, and PTX to a cubin by NVIDIA's assembler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from triptych.ir import bindings
from triptych.ir.worker import Request, shared_pool
from triptych.objectstage.target import CompileOptions
from triptych.stages import Compiled, Lowered
from triptych.support.config import config
from triptych.targets.nvptx.architectures import Architecture
from triptych.targets.nvptx.passes.uniform_branches import make_uniform
from triptych.targets.nvptx.report.occupancy import usages
from triptych.targets.nvptx.report.performance_warnings import narrow_remarks, warn_of_slow_code
from triptych.targets.nvptx.report.resources import read_report
from triptych.targets.nvptx.toolchain.assembler import AssemblerOptions, ptx_version
from triptych.targets.nvptx.toolchain.assembling import find_assembler
from triptych.targets.nvptx.toolchain.disassembling import disassemble
from triptych.targets.nvptx.toolchain.locate import libdevice

TRIPLE = "nvptx64-nvidia-cuda"
_LIBDEVICE_CALL = "@__nv_"


def start() -> None:
    """Let a worker load LLVM while the caller loads MLIR and traces."""
    shared_pool().start()


def codegen(lowered: Lowered, options: CompileOptions, architecture: Architecture) -> Compiled:
    """Compile and assemble. The same kernels as PTX, as SASS and as a table of resources are made from the cubin."""
    assembler = find_assembler()
    request = Request(
        triple=TRIPLE,
        cpu=architecture.name,
        features=f"+ptx{ptx_version(assembler, architecture)}",
        opt_level=options.opt_level,
        vectorize=False,  # threads are the lanes
        strength_reduction=False,  # for addresses of two registers; a GPU's have one, or 32 bits more
        emit=("assembly",),
        libraries=(libdevice(),) if _LIBDEVICE_CALL in lowered.llvm else (),
    )
    pending = shared_pool().submit(request, lowered.llvm)
    narrow = narrow_remarks(lowered.traced.module.read())  # while the worker is busy
    ptx = make_uniform(pending.result().assembly)
    assembled = assembler.assemble(ptx, architecture, AssemblerOptions(options.opt_level, options.line_info))
    module, resources = lowered.traced.module, read_report(assembled.report)
    warn_of_slow_code(module.read(), resources, narrow)
    _keep(lowered.traced.name, architecture, options, ptx, assembled.cubin)
    views: dict[str, Any] = {
        "ptx": lambda: ptx,
        "cubin": lambda: assembled.cubin,
        "sass": cache(lambda: disassemble(assembled.cubin)),
        "resources": lambda: resources,
        "usage": cache(lambda: usages(module.read(), resources)),
    }
    return Compiled(lowered, assembled.cubin, views["ptx"], asdict(options), views)


def _keep(name: str, architecture: Architecture, options: CompileOptions, ptx: str, cubin: bytes) -> None:
    """Write what the options ask for into the folder of the setting `keep`, or the current one."""
    files = {"ptx": ptx.encode()} if options.keep_ptx else {}
    files |= {"cubin": cubin} if options.keep_cubin else {}
    if files:
        folder = Path(config().keep or ".")
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, data in files.items():
            (folder / f"{name}.{architecture.name}.{suffix}").write_bytes(data)


def toolchain() -> Mapping[str, str]:
    """The tools that decide the generated code."""
    assembler = find_assembler()
    major, minor = assembler.version() or (0, 0)
    return {assembler.name: f"{major}.{minor}", **bindings.versions()}

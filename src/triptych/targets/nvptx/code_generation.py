"""The NVIDIA target's code generator: LLVM IR to PTX in a worker process, and PTX to a cubin by NVIDIA's assembler."""

from __future__ import annotations

import shlex
from dataclasses import asdict

from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.target import CompileOptions
from triptych.stages import Compiled, Lowered
from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.passes.uniform_branches import make_uniform
from triptych.targets.nvptx.report.occupancy import described, usages
from triptych.targets.nvptx.report.resources import read_report
from triptych.targets.nvptx.serialized_kernels import Code, with_views
from triptych.targets.nvptx.toolchain.assembler import AssemblerOptions, check_strides, ptx_version
from triptych.targets.nvptx.toolchain.assembling import assembler_for, find_assembler
from triptych.targets.nvptx.toolchain.locate import libdevice

TRIPLE = "nvptx64-nvidia-cuda"
_LIBDEVICE_CALL = "@__nv_"


def codegen(lowered: Lowered, options: CompileOptions, architecture: Architecture) -> Compiled:
    """Compile and assemble."""
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
    kernels = described(lowered.traced.module.read())  # while the worker is busy
    ptx = make_uniform(pending.result().assembly)
    assembler = assembler_for(ptx, architecture)
    check_strides(ptx, assembler)
    wanted = AssemblerOptions(options.opt_level, options.line_info, tuple(shlex.split(options.ptxas_options)))
    assembled = assembler.assemble(ptx, architecture, wanted)
    resources = read_report(assembled.report)
    return with_views(lowered, architecture, asdict(options), Code(ptx, assembled.cubin, usages(kernels, resources)))

"""Errors of compiling for NVIDIA GPUs: a tool is missing, an architecture too old, PTX refused, no GPU to run on."""

from __future__ import annotations

from triptych.support.errors import TriptychError

_KERNEL = """
from triptych import cute

@tt.kernel
def count(total: cute.Tensor):
    with cute.arch.elect_one():
        total[0] = 1

@tt.jit
def f(total: cute.Tensor):
    count(total).launch(grid=1, block=32)

"""
_TENSOR = "cute.runtime.make_fake_tensor(tt.Int32, (1,), (1,))"


class MissingToolError(TriptychError, ImportError):
    """A program or library of NVIDIA that compiling needs is not installed."""

    code = "TT0510"
    failing = f"""
# pip uninstall nvidia-nvjitlink
{_KERNEL}
tt.compile(f, {_TENSOR}, target="nvptx:sm_90a")
"""
    fixed = f"""
# pip install 'triptych[cuda,cuda-tools]'
{_KERNEL}
tt.compile(f, {_TENSOR}, target="nvptx:sm_90a")
"""


class ArchitectureError(TriptychError, ValueError):
    """A kernel needs an instruction, or more of something, than the architecture has."""

    code = "TT0511"
    failing = f"""
{_KERNEL}
tt.compile(f, {_TENSOR}, target="nvptx:sm_80")
"""
    fixed = f"""
{_KERNEL}
tt.compile(f, {_TENSOR}, target="nvptx:sm_90a")
"""


class AssemblerError(TriptychError, RuntimeError):
    """NVIDIA's assembler refused PTX, or is too old for the architecture."""

    code = "TT0512"
    failing = """
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.toolchain.assembler import AssemblerOptions
from triptych.targets.nvptx.toolchain.assembling import find_assembler

find_assembler().assemble("no PTX", ARCHITECTURES["sm_80"], AssemblerOptions())
"""
    fixed = """
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.toolchain.assembler import AssemblerOptions
from triptych.targets.nvptx.toolchain.assembling import find_assembler

ptx = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }"
find_assembler().assemble(ptx, ARCHITECTURES["sm_80"], AssemblerOptions())
"""


class NoGpuError(TriptychError, RuntimeError):
    """A function compiled for an NVIDIA GPU was called in a process that cannot launch it."""

    code = "TT0513"
    failing = f"""
{_KERNEL}
import numpy as np

total = np.zeros(1, np.int32)
tt.compile(f, total, target="nvptx:sm_90a")(total)
"""
    fixed = f"""
{_KERNEL}
import numpy as np

total = np.zeros(1, np.int32)
tt.compile(f, total, target="cpu")(total)
"""


class DriverError(TriptychError, RuntimeError):
    """NVIDIA's driver refused to load or to launch a kernel, or reports that one has failed."""

    code = "TT0514"
    failing = f"""
# on a machine whose GPU is an sm_80
{_KERNEL}
import torch

total = torch.zeros(1, dtype=torch.int32, device="cuda")
tt.compile(f, total, target="nvptx:sm_90a")(total)
"""
    fixed = f"""
# on a machine whose GPU is an sm_90
{_KERNEL}
import torch

total = torch.zeros(1, dtype=torch.int32, device="cuda")
tt.compile(f, total, target="nvptx:sm_90a")(total)
"""

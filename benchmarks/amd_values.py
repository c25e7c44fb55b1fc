"""Values of AMD's code without a card: the LLVM IR of its pass list, run by an OpenCL runtime on the CPU.

    python -m benchmarks.amd_values                      every plain kernel example, for gfx942:32
    python -m benchmarks.amd_values --chip gfx1100       for a chip with waves of 32
    python -m benchmarks.amd_values softmax transpose    only these

Each call of an intrinsic becomes a call of a function written with OpenCL's built-ins of a sub-group as wide as a wave;
LLVM makes SPIR-V of the whole, and a runtime that nobody here has written runs it. The examples check their own
results. Those that count on warps of 32 are compiled for `gfx942:32`, where two share a wave. What is left out is what
comes behind: selection of instructions, waits, registers.

Install the runtime with `pip install 'triptych[spirv]'`.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from benchmarks.amd_shim import in_opencl
from tests.unit.targets.nvptx.programs import FOLDER
from triptych.interop.dlpack import CPU_DEVICES
from triptych.ir.llvm.worker import shared_pool
from triptych.objectstage.codegen import load_host
from triptych.objectstage.launch_code import LaunchRecord
from triptych.objectstage.target import TARGETS, CompileOptions, Target, TargetFamily, find_target
from triptych.stages import Compiled, Loaded, Lowered
from triptych.support.config import override
from triptych.targets.amdgpu import TARGET
from triptych.targets.amdgpu.description.chips import CHIPS
from triptych.targets.spirv.code_generation import request
from triptych.targets.spirv.runtime.opencl import find_opencl
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.verification.verifying import VerifyOptions, verify

EXAMPLES = (
    *("block_reduction", "elementwise_apply", "epilogues", "gemm", "histogram", "layer_norm", "relu", "rms_norm"),
    *("sgemm", "softmax", "transpose", "vector_add", "warp_reduction"),
)
NAMES = TARGET.architectures
_PACKET = 64
P = ctypes.c_void_p


class Config(ctypes.Structure):
    """What host code describes a launch by: `CUlaunchConfig`."""

    _fields_ = [
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("stream", P),
        ("attributes", P),
        ("count", ctypes.c_uint),
    ]


class Program:
    """Kernels on an OpenCL device, and the function that host code launches them by."""

    def __init__(self, compiled: Compiled) -> None:
        opencl = find_opencl()
        assert opencl is not None, "no OpenCL runtime that takes SPIR-V: pip install 'triptych[spirv]'"
        self._opencl = opencl
        loaded = opencl.load(compiled.artifact)
        self._kernels = [loaded[name] for name in compiled.lowered.kernels]
        self._packet = ctypes.create_string_buffer(_PACKET)
        form = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Config), ctypes.c_size_t, ctypes.POINTER(P), P)
        self.launch = form(self._launch)
        self.numbers = (P * max(len(self._kernels), 1))(*range(1, len(self._kernels) + 1))

    def _launch(self, config: Any, number: int, arguments: Any, _: Any) -> int:
        launch, kernel = config[0], self._kernels[number - 1]
        grid, block = (launch.gx, launch.gy, launch.gz), (launch.bx, launch.by, launch.bz)
        self._describe(grid, block)
        packet = P(ctypes.addressof(self._packet))
        places = [arguments[place] for place in range(len(kernel.parameters) - 2)]
        status = kernel.set_arguments([*places, ctypes.addressof(packet)], max(launch.shared, 16))
        return status or self._opencl.launch(kernel, grid, block)

    def _describe(self, grid: Sequence[int], block: Sequence[int]) -> None:
        """The packet that AMD's kernels read sizes from."""
        for axis in range(3):
            ctypes.c_uint16.from_buffer(self._packet, 4 + 2 * axis).value = block[axis]
            ctypes.c_uint32.from_buffer(self._packet, 12 + 4 * axis).value = grid[axis] * block[axis]


def target_of(chip: str) -> Target:
    """The AMD target with another code generator and another loader."""
    lanes = CHIPS[chip.partition(":")[0]].lanes

    def codegen(lowered: Lowered, options: CompileOptions) -> Compiled:
        made = shared_pool().compile(request("object", 2), in_opencl(lowered.llvm, lanes))
        return Compiled(lowered, made.object, str)

    def load(compiled: Compiled) -> Loaded:
        started = cache(lambda: (Program(compiled), load_host(compiled)))

        def call(*args: Any, stream: object = None) -> Any:
            program, host = started()
            launch = ctypes.cast(program.launch, P).value
            record = LaunchRecord(launch, None, ctypes.addressof(program.numbers))
            result = host.call(*args, ctypes.addressof(record))
            if record.status:
                raise RuntimeError(f"a launch failed with the status {record.status}")
            return result

        return Loaded(compiled, call)

    known = find_target(f"amdgpu:{chip}")
    return replace(
        known,
        name=f"amdvalues:{chip}",
        codegen=codegen,
        load=load,
        serialize=None,
        deserialize=None,
        devices=CPU_DEVICES,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", nargs="*", default=EXAMPLES)
    parser.add_argument("--chip", choices=NAMES, default="gfx942:32")
    given = parser.parse_args(arguments)
    if len(given.examples) == 1:
        return 0 if is_right(given.examples[0], given.chip) else 1
    each = [sys.executable, "-m", "benchmarks.amd_values", "--chip", given.chip]
    right = [not subprocess.run([*each, name], check=False).returncode for name in given.examples]
    print(f"{sum(right)} of {len(right)} examples right on {given.chip}")
    return 0 if all(right) else 1


def is_right(name: str, chip: str) -> bool:
    """Verify one example, in this process, which the runtime may end."""
    TARGETS.register("amdvalues", TargetFamily("amdvalues", NAMES, target_of))
    with override(target=f"amdvalues:{chip}", cache=False):
        found = verify(load_contract(FOLDER / f"{name}.py"), VerifyOptions(seeds=1, allow_weak=True))
    print(f"{name}: {found.verdict}, {found.seconds:.1f} s", *found.findings, sep="\n  ", flush=True)
    return found.verdict == "pass"


if __name__ == "__main__":
    sys.exit(main())

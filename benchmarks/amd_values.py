"""Values of AMD's code without a card: the LLVM IR of its pass list, run by an OpenCL runtime on the CPU.

    python -m benchmarks.amd_values                      every plain kernel example, for gfx942:32
    python -m benchmarks.amd_values --chip gfx1100       for a chip with waves of 32
    python -m benchmarks.amd_values softmax transpose    only these

Each call of an intrinsic becomes a call of a function written with OpenCL's built-ins of a sub-group as wide as a wave;
LLVM makes SPIR-V of the whole, and a runtime that nobody here has written runs it. The examples check their own
results. Those that count on warps of 32 are compiled for `gfx942:32`, where two share a wave. What is left out is what
comes behind: selection of instructions, waits, registers.

`OCL_ICD_VENDORS` is the folder with the runtime's vendor file, `--opencl` its loader (`libOpenCL.so.1`).
"""

from __future__ import annotations

import argparse
import ctypes
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from benchmarks.amd_shim import in_opencl
from tests.unit.targets.nvptx.programs import FOLDER
from triptych.interop.dlpack import CPU_DEVICES
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.codegen import load_host
from triptych.objectstage.launch_code import LaunchRecord
from triptych.objectstage.target import TARGETS, CompileOptions, Target, TargetFamily, find_target
from triptych.stages import Compiled, Loaded, Lowered
from triptych.support.config import override
from triptych.targets.amdgpu import TARGET
from triptych.targets.amdgpu.description.chips import CHIPS
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.verification.verifying import VerifyOptions, verify

EXAMPLES = (
    *("block_reduction", "elementwise_apply", "epilogues", "gemm", "histogram", "layer_norm", "relu", "rms_norm"),
    *("sgemm", "softmax", "transpose", "vector_add", "warp_reduction"),
)
NAMES = TARGET.architectures
TRIPLE = "spirv64-unknown-unknown"
_SIZES = {"i1": 1, "i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}
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


class OpenCl:
    """The first device of the first platform."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)
        platforms, devices = (P * 8)(), (P * 8)()
        self.check("clGetPlatformIDs", 8, platforms, None)
        self.check("clGetDeviceIDs", P(platforms[0]), ctypes.c_ulong(0xFFFFFFFF), 8, devices, None)
        self._devices = devices
        self._context = self.made("clCreateContext", None, 1, devices, None, None)
        self.queue = self.made("clCreateCommandQueueWithProperties", self._context, P(devices[0]), None)

    def check(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, name)
        function.restype = ctypes.c_int
        status = function(*arguments)
        if status:
            raise RuntimeError(f"{name}: OpenCL error {status}")

    def made(self, name: str, *arguments: Any) -> P:
        function, status = getattr(self._library, name), ctypes.c_int()
        function.restype = P
        found = function(*arguments, ctypes.byref(status))
        if status.value:
            raise RuntimeError(f"{name}: OpenCL error {status.value}")
        return P(found)

    def kernels(self, code: bytes, names: Sequence[str]) -> list[P]:
        program = self.made("clCreateProgramWithIL", self._context, code, ctypes.c_size_t(len(code)))
        self.check("clBuildProgram", program, 1, self._devices, b"", None, None)
        return [self.made("clCreateKernel", program, name.encode()) for name in names]


class Program:
    """Kernels on an OpenCL device, and the function that host code launches them by."""

    def __init__(self, runtime: OpenCl, compiled: Compiled) -> None:
        self._runtime = runtime
        lowered = compiled.lowered
        self._kernels = runtime.kernels(compiled.artifact, lowered.kernels)
        self._parameters = [parameters_of(lowered.llvm, name) for name in lowered.kernels]
        self._packet = ctypes.create_string_buffer(_PACKET)
        form = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Config), ctypes.c_size_t, ctypes.POINTER(P), P)
        self.launch = form(self._launch)
        self.numbers = (P * max(len(self._kernels), 1))(*range(1, len(self._kernels) + 1))

    def _launch(self, config: Any, number: int, arguments: Any, _: Any) -> int:
        launch, kernel = config[0], self._kernels[number - 1]
        call, kinds = self._runtime.check, self._parameters[number - 1]
        for place, kind in enumerate(kinds):
            if kind == "ptr":
                call("clSetKernelArgSVMPointer", kernel, place, P(ctypes.cast(arguments[place], ctypes.POINTER(P))[0]))
            else:
                call("clSetKernelArg", kernel, place, ctypes.c_size_t(_SIZES[kind]), P(arguments[place]))
        block, grid = (launch.bx, launch.by, launch.bz), (launch.gx, launch.gy, launch.gz)
        call("clSetKernelArg", kernel, len(kinds), ctypes.c_size_t(max(launch.shared, 16)), None)
        self._describe(grid, block)
        call("clSetKernelArgSVMPointer", kernel, len(kinds) + 1, P(ctypes.addressof(self._packet)))
        local, total = (ctypes.c_size_t * 3)(*block), (ctypes.c_size_t * 3)(*map(int.__mul__, grid, block))
        call("clEnqueueNDRangeKernel", self._runtime.queue, kernel, 3, None, total, local, 0, None, None)
        call("clFinish", self._runtime.queue)
        return 0

    def _describe(self, grid: Sequence[int], block: Sequence[int]) -> None:
        """The packet that AMD's kernels read sizes from."""
        for axis in range(3):
            ctypes.c_uint16.from_buffer(self._packet, 4 + 2 * axis).value = block[axis]
            ctypes.c_uint32.from_buffer(self._packet, 12 + 4 * axis).value = grid[axis] * block[axis]


def parameters_of(llvm: str, kernel: str) -> list[str]:
    """The first word of the type of each parameter."""
    head = re.search(rf"define amdgpu_kernel void @{kernel}\((.*)\) [#!{{]", llvm)
    assert head is not None, kernel
    return [parameter.split()[0] for parameter in head[1].split(", ")] if head[1] else []


def target_of(chip: str, runtime: OpenCl) -> Target:
    """The AMD target with another code generator and another loader."""
    lanes = CHIPS[chip.partition(":")[0]].lanes

    def codegen(lowered: Lowered, options: CompileOptions) -> Compiled:
        request = Request(triple=TRIPLE, cpu="", features="", opt_level=2, vectorize=False, emit=("object",))
        made = shared_pool().compile(request, in_opencl(lowered.llvm, lanes))
        return Compiled(lowered, made.object, str)

    def load(compiled: Compiled) -> Loaded:
        started = cache(lambda: (Program(runtime, compiled), load_host(compiled)))

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
    parser.add_argument("--opencl", default="libOpenCL.so.1")
    given = parser.parse_args(arguments)
    if len(given.examples) == 1:
        return 0 if is_right(given.examples[0], given.chip, given.opencl) else 1
    each = [sys.executable, "-m", "benchmarks.amd_values", "--chip", given.chip, "--opencl", given.opencl]
    right = [not subprocess.run([*each, name], check=False).returncode for name in given.examples]
    print(f"{sum(right)} of {len(right)} examples right on {given.chip}")
    return 0 if all(right) else 1


def is_right(name: str, chip: str, opencl: str) -> bool:
    """Verify one example, in this process, which the runtime may end."""
    runtime = OpenCl(opencl)
    TARGETS.register("amdvalues", TargetFamily("amdvalues", NAMES, lambda each: target_of(each, runtime)))
    with override(target=f"amdvalues:{chip}", cache=False):
        found = verify(load_contract(FOLDER / f"{name}.py"), VerifyOptions(seeds=1, allow_weak=True))
    print(f"{name}: {found.verdict}, {found.seconds:.1f} s", *found.findings, sep="\n  ", flush=True)
    return found.verdict == "pass"


if __name__ == "__main__":
    sys.exit(main())

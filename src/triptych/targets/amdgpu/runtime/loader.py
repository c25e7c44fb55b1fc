"""The AMD target's loader: a program that launches its kernels through HIP, once it is called.

Compiling needs no GPU, so nothing here happens before the first call: then the host program is loaded, and the code
object on the GPU that the tensors are on. Without AMD's runtime the call is an error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from triptych.driver.boundary import for_user
from triptych.interop.streams import current_stream, stream_handle
from triptych.objectstage.codegen import load_host
from triptych.objectstage.device_errors import NoGpuError
from triptych.objectstage.kernel_arguments import check_count, device_of_tensors
from triptych.objectstage.launch_code import LaunchRecord
from triptych.stages import Compiled, Loaded
from triptych.targets.amdgpu.runtime.driver import Hip, find_hip

ROCM, ROCM_HOST = 10, 11
"""DLPack's kinds of memory: that of an AMD GPU, and memory of the CPU that it reaches."""
DEVICES = (ROCM, ROCM_HOST)


def load(compiled: Compiled) -> Loaded:
    """A function that launches. It takes one keyword beside the program's own arguments, `stream`."""
    program = cache(lambda: HipProgram(compiled, _runtime(compiled)))

    def call(*args: object, stream: object = None) -> Any:
        try:
            return program().call(args, stream)
        except Exception as error:
            for_user(error)
            raise

    return Loaded(compiled, call)


def _runtime(compiled: Compiled) -> Hip:
    found = find_hip()
    if found is None:
        raise NoGpuError(
            f"{compiled.lowered.traced.name} is compiled for an AMD GPU and cannot be called here",
            found="no AMD runtime (libamdhip64)",
            instead="target='cpu', or a look at `asm` and `resources`",
        )
    return found


class HipProgram:
    """A program with its host function compiled, and its kernels on every GPU that it has been called on."""

    def __init__(self, compiled: Compiled, runtime: Hip) -> None:
        traced = compiled.lowered.traced
        self._name = traced.name
        self._parameters = traced.parameters
        self._code = compiled.artifact
        self._kernels = compiled.lowered.kernels
        self._runtime = runtime
        self._launch = runtime.launch_address()
        self._host = load_host(compiled)
        self._loaded: dict[int, ctypes.Array[ctypes.c_void_p]] = {}

    def call(self, args: Sequence[Any], stream: object) -> Any:
        check_count(self._name, len(args), len(self._parameters))
        device = device_of_tensors(self._parameters, args, ROCM)
        kernels = self._on_device(self._runtime.enter(device))
        handle = current_stream(device) if stream is None else stream_handle(stream)
        record = LaunchRecord(self._launch, handle, ctypes.addressof(kernels))
        result = self._host.call(*args, ctypes.addressof(record))
        if record.status:
            kernel = self._kernels[record.failed]
            raise self._runtime.error(f"the kernel {kernel} could not be launched", record.status)
        return result

    def _on_device(self, device: int) -> ctypes.Array[ctypes.c_void_p]:
        """The handles of the kernels on a GPU, which is the current one."""
        if device not in self._loaded:
            functions = self._runtime.load(self._code, self._kernels)
            self._loaded[device] = (ctypes.c_void_p * max(len(functions), 1))(*functions)
        return self._loaded[device]

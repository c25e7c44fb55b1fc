"""The AMD target's loader: a program that launches its kernels through HIP, once it is called.

Compiling needs no GPU, so nothing here happens before the first call: then the host program is loaded, and the code
object on the GPU that the tensors are on. Without AMD's runtime the call is an error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from triptych.diagnostics.runtime_errors import ArgumentCountError
from triptych.diagnostics.tensor_errors import ArgumentTensorError
from triptych.driver.boundary import for_user
from triptych.interop.streams import current_stream, stream_handle
from triptych.objectstage.codegen import load_host
from triptych.objectstage.device_errors import NoGpuError
from triptych.objectstage.launch_code import LaunchRecord
from triptych.stages import Compiled, Leaf, Loaded
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
        if len(args) != len(self._parameters):
            wanted = len(self._parameters)
            raise ArgumentCountError(
                f"{self._name} takes {wanted} argument{'' if wanted == 1 else 's'}", found=str(len(args))
            )
        return self._run(self._host.call, args, stream)

    def _run(self, host: Callable[..., Any], args: Sequence[Any], stream: object) -> Any:
        device = _device(self._parameters, args)
        kernels = self._on_device(self._runtime.enter(device))
        handle = current_stream(device) if stream is None else stream_handle(stream)
        record = LaunchRecord(self._launch, handle, ctypes.addressof(kernels))
        result = host(*args, ctypes.addressof(record))
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


def _is_tensor(value: object) -> bool:
    return getattr(type(value), "__dlpack_device__", None) is not None


def _device(parameters: Sequence[Leaf], args: Sequence[Any]) -> int | None:
    """The number of the GPU that the tensors are on. What else is wrong with tensors, compiled code finds out."""
    first: tuple[int, str] | None = None
    for leaf, value in zip(parameters, args, strict=True):
        if leaf.memory is not None and _is_tensor(value):
            kind, number = value.__dlpack_device__()
            if kind == ROCM:
                first = first or (int(number), leaf.path)
                if first[0] != number:
                    raise ArgumentTensorError(
                        "the tensors of one call are on different GPUs",
                        found=f"{first[1]} on GPU {first[0]}, {leaf.path} on GPU {number}",
                        expected="tensors on one GPU, which runs the kernels",
                    )
    return None if first is None else first[0]

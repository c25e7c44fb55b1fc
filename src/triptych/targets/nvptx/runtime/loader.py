"""The NVIDIA target's loader: a program that launches its kernels through the driver, once it is called.

Compiling needs no GPU, so nothing here happens before the first call: then the host program is loaded, and the cubin
into the context of the GPU that the tensors are on. Without a driver the call is an error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from triptych.driver.boundary import for_user
from triptych.interop.dlpack import GPU
from triptych.interop.streams import current_stream, stream_handle
from triptych.objectstage.codegen import load_host
from triptych.objectstage.device_errors import DriverError, NoGpuError
from triptych.objectstage.kernel_arguments import check_count, device_of_tensors
from triptych.objectstage.launch_code import NO_KERNEL, LaunchRecord
from triptych.stages import Compiled, Loaded
from triptych.targets.nvptx.runtime.driver import Driver, find_driver


def load(compiled: Compiled) -> Loaded:
    """A function that launches. It takes one keyword beside the program's own arguments, `stream`."""
    program = cache(lambda: Program(compiled, _driver(compiled)))

    def call(*args: Any, stream: object = None) -> Any:
        try:
            return program().call(args, stream)
        except Exception as error:
            for_user(error)
            raise

    if all(leaf.memory is None for leaf in compiled.lowered.traced.parameters):
        return Loaded(compiled, call)
    return Loaded(compiled, call, lambda *args: program().attempt(args), lambda kind: program().reads(kind))


def _driver(compiled: Compiled) -> Driver:
    found = find_driver()
    if found is None:
        raise NoGpuError(
            f"{compiled.lowered.traced.name} is compiled for an NVIDIA GPU and cannot be called here",
            found="no NVIDIA driver",
            instead="target='cpu', or a look at `__ptx__`, `__sass__` and `resources`",
        )
    return found


class Program:
    """A program with its host function compiled, and its kernels in every context that it has been called in."""

    def __init__(self, compiled: Compiled, driver: Driver) -> None:
        traced = compiled.lowered.traced
        self._name = traced.name
        self.parameters = traced.parameters
        self._cubin = compiled.artifact
        self._kernels = compiled.lowered.kernels
        self._driver = driver
        self._launch = driver.launch_address()
        self._maps = (driver.encode_address(), driver.version())
        self._host = load_host(compiled)
        self._loaded: dict[int, ctypes.Array[ctypes.c_void_p]] = {}

    def call(self, args: Sequence[Any], stream: object) -> Any:
        check_count(self._name, len(args), len(self.parameters))
        return self._run(self._host.call, args, stream)

    def attempt(self, args: Sequence[Any]) -> Any:
        """As `Loaded.attempt`: the host function decides which tensors it was compiled for."""
        return NotImplemented if self._host.attempt is None else self._run(self._host.attempt, args, None)

    def reads(self, kind: type) -> bool:
        return self._host.reads is not None and self._host.reads(kind)

    def _run(self, host: Callable[..., Any], args: Sequence[Any], stream: object) -> Any:
        device = device_of_tensors(self.parameters, args, GPU)
        kernels = self._in_context(self._driver.enter(device))
        handle = current_stream(device) if stream is None else stream_handle(stream)
        record = LaunchRecord(self._launch, handle, ctypes.addressof(kernels), 0, 0, *self._maps)
        result = host(*args, ctypes.addressof(record))
        if record.status:
            raise self._failed(record)
        return result

    def _failed(self, record: LaunchRecord) -> DriverError:
        if record.failed == NO_KERNEL:
            return self._driver.map_error(record.status)
        return self._driver.error(f"the kernel {self._kernels[record.failed]} could not be launched", record.status)

    def _in_context(self, context: int) -> ctypes.Array[ctypes.c_void_p]:
        """The handles of the kernels in a context, which is the current one."""
        if context not in self._loaded:
            functions = self._driver.load(self._cubin, self._kernels)
            self._loaded[context] = (ctypes.c_void_p * max(len(functions), 1))(*functions)
        return self._loaded[context]

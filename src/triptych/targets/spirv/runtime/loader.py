"""The SPIR-V target's loader: a program that launches its kernels through OpenCL, once it is called.

Every launch ends before the next one begins, so that the first check that fails is the one that is told of.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from triptych.diagnostics.check_errors import CHECK_ERRORS, unpack
from triptych.driver.boundary import for_user
from triptych.ir.modules import SHARED_ALIGNMENT
from triptych.objectstage.codegen import load_host
from triptych.objectstage.device_errors import DriverError, NoGpuError
from triptych.objectstage.kernel_arguments import check_count
from triptych.objectstage.launch_code import LaunchRecord
from triptych.stages import Compiled, Loaded
from triptych.targets.spirv.code_generation import CHECKS
from triptych.targets.spirv.passes.lower_threads import HIDDEN
from triptych.targets.spirv.runtime.opencl import LoadedKernel, OpenCl, find_opencl

_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
"""As `cuLaunchKernelEx`: the configuration, the kernel, the addresses of its arguments, and nothing."""
_CHECK_FAILED = 1
"""A status of no driver, whose errors are negative."""


def load(compiled: Compiled) -> Loaded:
    """A function that launches."""
    program = cache(lambda: _Program(compiled, _device(compiled)))

    def call(*args: object, stream: object = None) -> Any:
        del stream  # there is one queue, and nobody else uses it
        try:
            return program().call(args)
        except Exception as error:
            for_user(error)
            raise

    return Loaded(compiled, call)


def _device(compiled: Compiled) -> OpenCl:
    found = find_opencl()
    if found is None:
        raise NoGpuError(
            f"{compiled.lowered.traced.name} is compiled for OpenCL and cannot be called here",
            found="no OpenCL device that takes SPIR-V and reaches the memory of the process",
            instead="pip install 'triptych[spirv]', on Linux on x86-64; or target='cpu'",
        )
    return found


class _Program:
    """The host function, and the kernels on the device."""

    def __init__(self, compiled: Compiled, opencl: OpenCl) -> None:
        self._opencl = opencl
        self._traced = compiled.lowered.traced
        self._checks = compiled.views[CHECKS]()
        kernels = opencl.load(compiled.artifact)
        self._names = compiled.lowered.kernels
        self._kernels = [kernels[name] for name in self._names]
        self._host = load_host(compiled)
        self._numbers = (ctypes.c_void_p * max(1, len(self._kernels)))(*range(1, len(self._kernels) + 1))

    def call(self, args: Sequence[object]) -> Any:
        """Run the host function, which calls `launch` for every launch."""
        check_count(self._traced.name, len(args), len(self._traced.parameters))
        failed = ctypes.c_int32()

        def launch(config: int, kernel: int, arguments: int, _: int | None) -> int:
            sizes: list[int] = list((ctypes.c_uint32 * 7).from_address(config))
            status = self._launch(self._kernels[kernel - 1], sizes, arguments, failed)
            return status or (_CHECK_FAILED if failed.value else 0)

        driver = _LAUNCH(launch)
        record = LaunchRecord(ctypes.cast(driver, ctypes.c_void_p), None, ctypes.addressof(self._numbers))
        result = self._host.call(*args, ctypes.addressof(record))
        if failed.value:
            error, _, facts = self._checks[str(failed.value)].partition("\n")
            raise CHECK_ERRORS[error](**unpack(facts))
        if record.status:
            raise DriverError(
                f"the kernel {self._names[record.failed]} could not be launched",
                found=f"error {record.status} of OpenCL",
            )
        return result

    def _launch(self, kernel: LoadedKernel, config: Sequence[int], arguments: int, failed: ctypes.c_int32) -> int:
        """The arguments of the program, then the hidden ones."""
        *blocks, columns, rows, planes, shared = config
        own = len(kernel.parameters) - len(HIDDEN)
        places = list((ctypes.c_void_p * own).from_address(arguments)) if own else []
        hidden = (ctypes.c_uint32(columns), ctypes.c_uint32(rows), ctypes.c_void_p(ctypes.addressof(failed)))
        places += [ctypes.addressof(value) for value in hidden]
        status = kernel.set_arguments(places, shared + SHARED_ALIGNMENT)
        return status or self._opencl.launch(kernel, blocks, (columns * rows * planes, 1, 1))

"""The kernels in OpenCL C, run by Intel's runtime for the CPU: the strongest other system that runs kernels there.

Installed by `pip install pyopencl intel-opencl-rt intel-cmplr-lib-rt`; without them there is no peer.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parent / "kernel_programs" / "kernels.cl"
INDICES = ("int", "size_t")


def runtime() -> Path | None:
    """The library of the runtime, where the package puts it."""
    found = Path(sys.prefix) / "lib" / "libintelocl.so"
    return found if found.exists() and importlib.util.find_spec("pyopencl") is not None else None


class OpenCL:
    """The device and the programs on it, one for each type of indices."""

    def __init__(self, library: Path, threads: int) -> None:
        os.environ["OCL_ICD_VENDORS"] = str(library)
        os.environ["CL_CONFIG_CPU_TBB_NUM_WORKERS"] = str(threads)
        os.environ["PYOPENCL_NO_CACHE"] = "1"
        self._cl = importlib.import_module("pyopencl")
        [device] = self._cl.get_platforms()[0].get_devices(self._cl.device_type.CPU)
        self._context = self._cl.Context([device])
        self._queue = self._cl.CommandQueue(self._context)
        warnings.simplefilter("ignore", self._cl.CompilerWarning)  # it says how wide it made the vectors
        text = SOURCE.read_text()
        self._programs = {
            number: self._cl.Program(self._context, text).build(["-cl-std=CL3.0", f"-Dnumber={number}"])
            for number in INDICES
        }

    def launcher(
        self, name: str, number: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any]
    ) -> Callable[[], None]:
        """What launches a kernel on these arguments, arrays where they are in memory, and waits for its end."""
        kernel = self._cl.Kernel(self._programs[number], name)
        kept = [self._argument(argument) for argument in arguments]  # the kernel does not keep its buffers alive
        whole = tuple(blocks * threads for blocks, threads in zip(grid, block, strict=True))

        def launch() -> None:
            kernel(self._queue, whole, tuple(block), *kept)
            self._queue.finish()

        return launch

    def _argument(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            flags = self._cl.mem_flags
            return self._cl.Buffer(self._context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=value)
        return np.int32(value) if isinstance(value, int) else np.float32(value)


def opencl(threads: int) -> OpenCL | None:
    """The peer, where it is installed."""
    library = runtime()
    return None if library is None else OpenCL(library, threads)

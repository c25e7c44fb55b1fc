"""The NVIDIA target's loader: without a GPU a compiled function can be looked at, and says so when it is called."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NoReturn

from triptych.boundary import for_user
from triptych.stages import Compiled, Loaded
from triptych.targets.nvptx.errors import NoGpuError

_DRIVERS = ("libcuda.so.1", "nvcuda.dll")


def load(compiled: Compiled) -> Loaded:
    """A function whose call is an error."""

    def call(*_: Any) -> NoReturn:
        try:
            raise NoGpuError(
                f"{compiled.lowered.traced.name} is compiled for an NVIDIA GPU and cannot be called here",
                found="a driver, but no way to launch from this process yet" if has_driver() else "no NVIDIA driver",
                instead="target='cpu', or a look at `__ptx__`, `__sass__` and `resources`",
            )
        except NoGpuError as error:
            for_user(error)
            raise

    return Loaded(compiled, call)


@cache
def has_driver() -> bool:
    """Whether the library of NVIDIA's driver is installed: the one question that is safe to ask without it."""
    for name in _DRIVERS:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False

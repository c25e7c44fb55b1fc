"""The PTX simulator in the place of the machine's own: programs for the NVIDIA target find its driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from triptych.objectstage.device_errors import DriverError
from triptych.ptxsim.driver import NumpyDriver
from triptych.targets.nvptx.runtime import loader
from triptych.targets.nvptx.runtime.driver import Driver


@contextmanager
def installed(library: NumpyDriver) -> Iterator[Driver]:
    """In its body there is this driver. It is told which PTX a cubin is made from, and its errors come through."""
    driver = Driver(library)

    class Told(loader.Program):
        def __init__(self, compiled: Any, found: Driver) -> None:
            super().__init__(compiled, found)
            library.knows(compiled.artifact, compiled.views["ptx"]())

        def _run(self, host: Callable[..., Any], args: Sequence[Any], stream: Any) -> Any:
            try:
                return super()._run(host, args, stream)
            except DriverError:
                if library.error is None:
                    raise
                error, library.error = library.error, None
                raise error from None

    with (
        mock.patch.object(loader, "find_driver", return_value=driver),
        mock.patch.object(loader, "Program", Told),
    ):
        yield driver

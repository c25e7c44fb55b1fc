"""For `pytest -p`: the tests for a GPU find the PTX simulator."""

from __future__ import annotations

from unittest import mock

from tests.support.ptx.installed import installed
from triptych.ptxsim.driver import NumpyDriver
from triptych.targets.nvptx.runtime import driver

_gpu = installed(NumpyDriver(is_strict=True))
mock.patch.object(driver, "find_driver", return_value=_gpu.__enter__()).start()  # before the tests ask for one

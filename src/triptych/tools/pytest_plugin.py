"""`pytest --triptych-cpu`: tests of programs for the public CuTe DSL run where there is no GPU.

pytest loads this file in every run wherever Triptych is installed, so it imports nothing before the option is given.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

_OPTION = "triptych_cpu"
_UNDO = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option, in a group of its own."""
    parser.getgroup("triptych").addoption(
        "--triptych-cpu",
        dest=_OPTION,
        action="store_true",
        help="let `cutlass` be Triptych and CUDA's tensors lie on the CPU, so that tests of kernels need no GPU",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before the first conftest.py, which may import `cutlass` itself."""
    _activate(early_config, early_config.known_args_namespace)


def pytest_configure(config: pytest.Config) -> None:
    """For a plug-in that a conftest.py names, which is known only now."""
    _activate(config, config.option)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Put everything back, for whoever runs pytest inside a process."""
    undo = config.stash.get(_UNDO, None)
    if undo is not None:
        undo()


def pytest_report_header(config: pytest.Config) -> str | None:
    """The one line that tells how the tests are run."""
    if _UNDO not in config.stash:
        return None
    return str(importlib.import_module("triptych.tools.run").banner())


def _activate(config: pytest.Config, options: object) -> None:
    if not getattr(options, _OPTION, False) or _UNDO in config.stash:
        return
    compat = importlib.import_module("triptych.compat")
    was_active = compat.is_active()
    compat.activate()
    config.stash[_UNDO] = (lambda: None) if was_active else compat.deactivate

"""`pytest --triptych-cpu`: tests of programs for the public CuTe DSL run where there is no GPU.

`pytest --triptych-check` runs every launch of a test suite under the checkers; a test with findings fails, at their
lines. A comment `# triptych: allow TT0630 reason` at one of the lines allows a finding, and the summary counts these.

pytest loads this file in every run wherever Triptych is installed, so it imports nothing before the option is given.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator
from typing import Any

import pytest

_OPTION = "triptych_cpu"
_CHECK = "triptych_check"
_DEFAULT = "bounds,races,init,async"
_UNDO = pytest.StashKey[Any]()
_ALLOWED = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option, in a group of its own."""
    parser.getgroup("triptych").addoption(
        "--triptych-cpu",
        dest=_OPTION,
        action="store_true",
        help="let `cutlass` be Triptych and CUDA's tensors lie on the CPU, so that tests of kernels need no GPU",
    )
    parser.getgroup("triptych").addoption(
        "--triptych-check",
        dest=_CHECK,
        nargs="?",
        const=_DEFAULT,
        metavar="WORDS",
        help=f"run kernels under checkers, and fail tests with findings (default: {_DEFAULT})",
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test runs under the checkers; what they found is why it fails, unless it has failed by itself."""
    words = item.config.getoption(_CHECK, None)
    if words is None:
        return (yield)
    findings, settings = (importlib.import_module(f"triptych.support.{name}") for name in ("findings", "config"))
    with settings.override(debug=words), findings.collecting() as collection:
        result = yield
    report = importlib.import_module("triptych.tools.check")
    allowed = item.config.stash.setdefault(_ALLOWED, [])
    allowed += [f"{each.code} at line {each.now.spans[0].line}: {reason}" for each, reason in collection.allowed]
    if collection.faults:
        pytest.fail(report.report_text(collection), pytrace=False)
    return result


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """How many findings comments have allowed, and why."""
    allowed = config.stash.get(_ALLOWED, [])
    if allowed:
        terminalreporter.section("triptych: findings that comments allow")
        for line in sorted(set(allowed)):
            terminalreporter.line(f"{allowed.count(line)} x {line}")


def _activate(config: pytest.Config, options: object) -> None:
    if not getattr(options, _OPTION, False) or _UNDO in config.stash:
        return
    compat = importlib.import_module("triptych.compat")
    was_active = compat.is_active()
    compat.activate()
    config.stash[_UNDO] = (lambda: None) if was_active else compat.deactivate

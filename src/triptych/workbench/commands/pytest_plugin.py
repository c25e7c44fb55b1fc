"""`pytest --triptych-cpu`: tests of programs for the public CuTe DSL run where there is no GPU.

`pytest --triptych-gpus 4` is the same for tests that start ranks (`torch.multiprocessing.spawn`).

`pytest --triptych-largest 4096` leaves out the tests whose parameters have a larger number: suites for GPUs go on to
sizes that a CPU is slow at.

`pytest --triptych-check` runs every launch of a test suite under the checkers; a test with findings fails, at their
lines. A comment `# triptych: allow TT0630 reason` at one of the lines allows a finding, and the summary counts these.
A test with `@pytest.mark.triptych_expect("TT0630")` is to have such a finding; one that sets `debug` itself is left
alone.

pytest loads this file in every run wherever Triptych is installed, so it imports nothing before the option is given.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

_OPTION = "triptych_cpu"
_GPUS = "triptych_gpus"
_LARGEST = "triptych_largest"
_CHECK = "triptych_check"
_DEFAULT = "bounds,races,init,async"
_UNDO = pytest.StashKey[Any]()
_ALLOWED = "triptych: allowed"
_EXPECT = "triptych_expect"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option, in a group of its own."""
    parser.getgroup("triptych").addoption(
        "--triptych-cpu",
        dest=_OPTION,
        action="store_true",
        help="let `cutlass` be Triptych and place CUDA tensors on the CPU, so that tests of kernels need no GPU",
    )
    parser.getgroup("triptych").addoption(
        "--triptych-gpus",
        dest=_GPUS,
        type=int,
        default=0,
        metavar="N",
        help="the same with N GPUs: processes that tests start as ranks share memory",
    )
    parser.getgroup("triptych").addoption(
        "--triptych-largest",
        dest=_LARGEST,
        type=int,
        metavar="N",
        help="leave out tests that have a number above N among their parameters, also inside tuples and lists",
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
    """For a plug-in that a conftest.py names, which is known only now; wrong words are told before any test runs."""
    config.addinivalue_line("markers", f"{_EXPECT}(code): under --triptych-check, the test is to have this finding")
    _activate(config, config.option)
    words = config.getoption(_CHECK, None)
    if words is not None:
        settings = importlib.import_module("triptych.support.config")
        try:
            with settings.override(debug=words):
                pass
        except ValueError as error:
            raise pytest.UsageError(f"--triptych-check={words}: {error}") from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Put everything back, for whoever runs pytest inside a process."""
    undo = config.stash.get(_UNDO, None)
    if undo is not None:
        undo()


def pytest_report_header(config: pytest.Config) -> str | None:
    """The one line that tells how the tests are run."""
    if _UNDO not in config.stash:
        return None
    return str(importlib.import_module("triptych.workbench.commands.run").banner())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of large sizes, as `-k` does with names."""
    largest = config.getoption(_LARGEST, None)
    if largest is None:
        return
    run: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        is_large = any(number > largest for number in _numbers(_parameters_of(item)))
        (left_out if is_large else run).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = run


def _parameters_of(item: pytest.Item) -> list[object]:
    call = getattr(item, "callspec", None)  # of tests with parameters only
    return list(call.params.values()) if call is not None else []


def _numbers(value: object) -> Iterator[int]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Fixtures launch too; what they find is told where they run."""
    return (yield from _checked(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test runs under the checkers; what they found is why it fails, unless it has failed by itself."""
    return (yield from _checked(item, [str(mark.args[0]) for mark in item.iter_markers(_EXPECT)]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """And what fixtures do at the end."""
    return (yield from _checked(item))


def _checked(item: pytest.Item, expected: Sequence[str] = ()) -> Generator[None, object, object]:
    words = item.config.getoption(_CHECK, None)
    if words is None:
        return (yield)
    if item.config.getoption("usepdb", False) and "break" not in words.split(","):
        words += ",break"  # a debugger then opens in the thread that fails
    findings, settings = map(importlib.import_module, ("triptych.sanitizer.findings", "triptych.support.config"))
    with settings.override(debug=words), findings.collecting(only_under=words) as collection:
        result = yield
    report = importlib.import_module("triptych.workbench.commands.check")
    item.user_properties += [(_ALLOWED, _allowance(*each)) for each in collection.allowed]
    found = {each.code for each in collection.findings}
    missing = [code for code in expected if code not in found]
    if missing:
        pytest.fail(f"the checkers were expected to find {', '.join(missing)}, and did not", pytrace=False)
    if any(each.code not in expected for each in collection.faults):
        pytest.fail(report.report_text(collection), pytrace=False)
    return result


def _allowance(finding: Any, reason: str) -> str:
    span = finding.current.spans[0]
    return f"{finding.code} at {Path(span.file).name}:{span.line}: {reason}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many findings comments have allowed, and why; reports bring them from other processes too."""
    seen = {(r.nodeid, n): r for reports in terminalreporter.stats.values() for r, n in _with_properties(reports)}
    allowed = [report.user_properties[number][1] for (_, number), report in seen.items()]
    if allowed:
        terminalreporter.section("triptych: findings that comments allow")
        for line in sorted(set(allowed)):
            terminalreporter.line(f"{allowed.count(line)} x {line}")


def _with_properties(reports: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    for report in reports:
        for number, (name, _) in enumerate(getattr(report, "user_properties", ())):
            if name == _ALLOWED:
                yield report, number


def _activate(config: pytest.Config, options: object) -> None:
    gpus = getattr(options, _GPUS, 0)
    if not (getattr(options, _OPTION, False) or gpus) or _UNDO in config.stash:
        return
    compat, undo = importlib.import_module("triptych.compat"), ExitStack()
    if gpus:
        settings = importlib.import_module("triptych.support.config")
        undo.enter_context(settings.handed_down(compat=True, gpus=gpus))
        undo.enter_context(settings.override(gpus=gpus))
    was_active = compat.is_active()
    compat.activate()
    if not was_active:
        undo.callback(compat.deactivate)
    config.stash[_UNDO] = undo.close

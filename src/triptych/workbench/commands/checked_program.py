"""The program that `triptych check` runs, as often as it is asked to, and what it leaves behind.

A file runs as a script does, a notebook from its first cell to its last. A function is called with example arguments,
tensors of them filled with random numbers. A kernel file of the workbench, which exports `kernel_fn` and `get_inputs`,
a plan, or a model of KernelBench, runs all its cases.
"""

from __future__ import annotations

import inspect
import io
import re
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from triptych.compat import activate, imports_public_names
from triptych.cute.runtime.fake_tensors import FakeTensor
from triptych.sanitizer.checkers import INIT, checkers
from triptych.sanitizer.finding_errors import report
from triptych.sanitizer.findings import Example, Finding, Kind, Site
from triptych.support.forking import import_late
from triptych.support.source import Span
from triptych.workbench.commands.notebooks import SUFFIX, run_notebook
from triptych.workbench.commands.show import ShowError, check_file, example_arguments, find

# Outputs that a kernel file names (`OUTPUTS`) and its kernel does not write: a note of the checker `init`.
# Such arguments are filled with one byte before the kernel runs, and with another one before it runs again: an
# element that keeps both was written by nobody.

_FIRST, _SECOND = 0xA5, 0x5B


def run_and_watch(contract: Any, name: str, case: Any) -> tuple[Any, Sequence[Any]]:
    """The result of a case and its inputs; what it leaves of its outputs is told."""
    watched = sorted(contract.written) if INIT in checkers() else []
    inputs = contract.inputs(0, case)
    marked = [place for place in watched if _fill(inputs[place], _FIRST)]
    result = contract.kernel(*inputs)
    left = {place: _kept(inputs[place], _FIRST) for place in marked}
    if any(kept.any() for kept in left.values()):
        again = contract.inputs(0, case)
        for place in marked:
            _fill(again[place], _SECOND)
        contract.kernel(*again)
        for place in marked:
            _tell(contract.kernel, name, place, inputs[place], left[place] & _kept(again[place], _SECOND))
    return result, inputs


def _bytes(array: Any) -> Any:
    """The bytes of an array that lies in one piece in memory of the host, a row for each element; otherwise None."""
    numpy: Any = import_late("numpy")
    if hasattr(array, "detach"):
        torch: Any = import_late("torch")
        plain = array.is_contiguous() and array.device.type == "cpu" and array.numel()
        return array.detach().reshape(-1).view(torch.uint8).numpy().reshape(array.numel(), -1) if plain else None
    if not isinstance(array, numpy.ndarray) or not array.flags["C_CONTIGUOUS"] or not array.size:
        return None
    return array.reshape(-1).view(numpy.uint8).reshape(array.size, -1)


def _fill(array: Any, byte: int) -> bool:
    held = _bytes(array)
    if held is not None:
        held[...] = byte
    return held is not None


def _kept(array: Any, byte: int) -> Any:
    """Which elements still have this byte everywhere."""
    return (_bytes(array) == byte).all(axis=1)


def _tell(kernel: Any, case: str, place: int, array: Any, kept: Any) -> None:
    count = int(kept.sum())
    if not count:
        return
    numpy: Any = import_late("numpy")
    parameter = list(inspect.signature(kernel).parameters)[place]
    first, last = (numpy.unravel_index(int(kept.nonzero()[0][i]), tuple(array.shape)) for i in (0, -1))
    where = f"the first at {_text(first)}, the last at {_text(last)}"
    words = f"{count:,} of {kept.size:,} elements of {parameter} that nobody wrote in the case {case}, {where}"
    plain: Any = inspect.unwrap(kernel)
    span = Span(plain.__code__.co_filename, plain.__code__.co_firstlineno, function=plain.__name__)
    site = Site((span,), "writes", 0, place)
    seen = Example((0, 0, 0), 0, 0, 0, 0, words)
    report([Finding(Kind.NEVER_WRITTEN, plain.__name__, site, site, count, (seen,), variable=parameter)])


def _text(index: Sequence[Any]) -> str:
    return f"({', '.join(str(int(each)) for each in index)})"


Outcome = Mapping[str, object]
"""What a run leaves, by name: arguments and results of a function, numbers and printed text of a script."""
Program = Callable[[], Outcome]
_CONTRACT = re.compile(r"^(?:def |class )?(kernel_fn|get_inputs|ModelNew|PLAN)\b(?! *,)", re.MULTILINE)


def program_of(place: str, args: str, arguments: Sequence[str], *, cutlass: bool) -> Program:
    """What a request asks to run."""
    if cutlass:
        activate()
    _, colon, name = place.rpartition(":")
    if colon and name and not name.endswith(".py"):
        return lambda: _called(place, args)
    file = Path(place)
    check_file(file, "FILE or FILE:FUNCTION, as seen from here")
    text = file.read_text(encoding="utf-8")
    if imports_public_names(text):
        activate()
    if file.suffix != SUFFIX and _is_kernel_file(text):
        return lambda: _cases(file)
    return lambda: _script(place, arguments)


def _is_kernel_file(text: str) -> bool:
    found = set(_CONTRACT.findall(text))
    return "PLAN" in found or {"get_inputs"} < found


def _called(place: str, args: str) -> Outcome:
    positional, named = example_arguments(args)
    given = [_filled(each) for each in positional]
    by_name = {key: _filled(each) for key, each in named.items()}
    result = find(place)(*given, **by_name)
    return {**{f"argument {at}": each for at, each in enumerate(given)}, **by_name, "the result": result}


def _cases(file: Path) -> Outcome:
    loading: Any = import_late("triptych.workbench.contracts.loading")  # loads NumPy
    contract = loading.load_contract(file)
    left: dict[str, object] = {}
    for name, case in contract.cases.items():
        left[f"the result of {name}"], inputs = run_and_watch(contract, name, case)
        left |= {f"input {at} of {name}": each for at, each in enumerate(inputs)}
    return left


def _script(place: str, arguments: Sequence[str]) -> Outcome:
    sys.argv = [place, *arguments]
    sys.path[0] = str(Path(place).resolve().parent)
    with _Printed(sys.stdout) as printed:
        if place.endswith(SUFFIX):
            run_notebook(Path(place))
            left = vars(sys.modules["__main__"])
        else:
            left = runpy.run_path(place, run_name="__main__")
    return {**left, "what it prints": printed.text()}


class _Printed:
    """Keeps what a program prints, and lets it through."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._kept = stream, io.StringIO()

    def __enter__(self) -> _Printed:
        sys.stdout = self
        return self

    def __exit__(self, *raised: object) -> None:
        sys.stdout = self._stream

    def write(self, text: str) -> int:
        self._kept.write(text)
        written: int = self._stream.write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def text(self) -> str:
        return self._kept.getvalue()


def _filled(argument: object) -> object:
    """A tensor of random numbers where the arguments name a kind of tensors with known extents."""
    if not isinstance(argument, FakeTensor):
        return argument
    numpy: Any = import_late("numpy")
    shape, dtype = argument.shape, argument.element_type.__name__.lower()
    if not all(isinstance(extent, int) for extent in shape):
        raise ShowError(
            "a tensor for a run has known extents", found=str(argument), instead=f'--args "{dtype.title()}[64, 64]"'
        )
    source = numpy.random.default_rng(0)
    return (source.standard_normal(shape) if "float" in dtype else source.integers(0, 100, shape)).astype(dtype)

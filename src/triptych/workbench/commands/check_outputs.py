"""Outputs that a kernel file names (`OUTPUTS`) and its kernel does not write: a note of the checker `init`.

Such arguments are filled with one byte before the kernel runs, and with another one before it runs again: an element
that keeps both was written by nobody.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from triptych.sanitizer.checkers import INIT, checkers
from triptych.sanitizer.finding_errors import report
from triptych.sanitizer.findings import Example, Finding, Kind, Site
from triptych.support.forking import import_late
from triptych.support.source import Span

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

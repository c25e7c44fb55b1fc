"""Inline PTX, constraints: which register each operand and each result is in, checked against their types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triptych.ir.handles import Type
from triptych.ir.types import int_width, is_float, is_pointer, type_text
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

REGISTERS = {"b": "pred", "h": "b16", "r": "b32", "l": "b64", "f": "f32", "d": "f64"}
"""The kind of register of each letter."""
CONSTANTS = ("n", "i")
"""Letters of numbers that are known now, and are written into the text."""
_WIDTHS = {"b": 1, "h": 16, "r": 32, "l": 64, "f": 32, "d": 64}
_OUTPUT = re.compile(r"=&?([bhrlfd])")
_INPUT = re.compile(r"[bhrlfdni]|\d+")
_CLOBBER = re.compile(r"~\{\w+\}")


@dataclass(frozen=True, slots=True)
class Constraints:
    """A letter for each result, and for each operand a letter or the number of the result that it shares."""

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]

    def letter(self, place: int) -> str:
        """The letter of an operand's register."""
        given = self.inputs[place]
        return self.outputs[int(given)] if given.isdigit() else given


def read_constraints(text: str, results: Sequence[Type], operands: Sequence[Type]) -> Constraints:
    """The constraints of a text, if they fit the types; an error at the user's line if not."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    outputs = [part for part in parts if part.startswith("=")]
    clobbers = [part for part in parts if part.startswith("~")]
    inputs = [part for part in parts if part not in outputs and part not in clobbers]
    for form, given in ((_OUTPUT, outputs), (_INPUT, inputs), (_CLOBBER, clobbers)):
        for part in given:
            if form.fullmatch(part) is None:
                letters = ", ".join(f"{letter} ({kind})" for letter, kind in REGISTERS.items())
                raise _refused(f"{part!r} in {text!r}", f"`=` and a letter, or a letter: {letters}, n or i (constant)")
    if (len(outputs), len(inputs)) != (len(results), len(operands)) or parts != [*outputs, *inputs, *clobbers]:
        raise _refused(
            f"{len(outputs)} outputs and {len(inputs)} inputs in {text!r}",
            f"{len(results)} outputs and {len(operands)} inputs, in this order",
        )
    found = Constraints(tuple(part.lstrip("=&") for part in outputs), tuple(inputs))
    for part in inputs:
        if part.isdigit() and int(part) >= len(outputs):
            raise _refused(f"{part!r} in {text!r}", f"the number of one of the {len(outputs)} outputs")
    for place_, kind in enumerate(results):
        _check(f"result {place_}", kind, found.outputs[place_])
    for place_, kind in enumerate(operands):
        _check(f"operand {place_}", kind, found.letter(place_))
    return found


def _check(what: str, kind: Type, letter: str) -> None:
    width = _width(kind)
    if letter in CONSTANTS:
        if int_width(kind) is None:
            raise _refused(f"{what} is {type_text(kind)}, in {letter!r}", "an integer that is known now")
        return
    is_truth = width == 1 and letter in "hrl"
    if width != _WIDTHS[letter] and not is_truth:
        wanted = next((name for name in _preferred(kind) if _WIDTHS[name] == width), "")
        raise _refused(
            f"{what} is {type_text(kind)}, in a register {letter!r} of {_WIDTHS[letter]} bits",
            f"a number of {_WIDTHS[letter]} bits" + (f", or the letter {wanted!r}" if wanted else ""),
        )


def _preferred(kind: Type) -> str:
    return "fdh" if is_float(kind) else "rlhb"


def _width(kind: Type) -> int:
    """The bits of a number or a pointer; 0 for what no register holds."""
    if is_pointer(kind):
        return 32 if kind.address_space == 3 else 64
    if is_float(kind):
        return kind.width
    return int_width(kind) or 0


def _refused(found: str, expected: str) -> OperandTypeError:
    return OperandTypeError("the constraints of inline PTX do not fit", span=place(), found=found, expected=expected)

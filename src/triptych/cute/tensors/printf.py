"""Meta-stage, `printf` of programs with tensors: a tensor is printed whole, on lines of its own."""

from __future__ import annotations

from typing import Any

from triptych.cute.tensors.printing import print_tensor
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tensors.value import TensorSSA
from triptych.metastage.calls import printing
from triptych.metastage.calls.printing import BRACES


def printf(template: object, *args: object) -> None:
    """Print a line at run time, as `triptych.printf` does; a tensor is printed whole, on lines of its own."""
    if not isinstance(template, str):
        template, args = " ".join(["{}"] * (1 + len(args))), (template, *args)
    if not any(isinstance(arg, Tensor | TensorSSA) for arg in args):
        printing.printf(template if template.endswith("\n") else template + "\n", *args)
        return
    line = _Line()
    unused = iter(range(len(args)))
    end = 0
    for field in BRACES.finditer(template):
        line.text += template[end : field.start()]
        end = field.end()
        if field[0] in ("{{", "}}"):
            line.text += field[0]
            continue
        value = args[int(field["field"]) if field["field"] else next(unused)]
        if isinstance(value, Tensor | TensorSSA):
            line.finish()
            print_tensor(value)
        else:
            line.text += "{:" + (field["spec"] or "") + "}"
            line.args.append(value)
    line.text += template[end:]
    line.finish()


class _Line:
    """What stands between two tensors."""

    def __init__(self) -> None:
        self.text = ""
        self.args: list[Any] = []

    def finish(self) -> None:
        if self.text.strip():
            # A part without arguments is a value too, so that braces in it mean what they mean beside arguments.
            printing.printf(self.text + "{}", *self.args, "")
        self.text, self.args = "", []

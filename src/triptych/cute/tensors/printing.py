"""Printing of tensors when the program runs, in the form that public programs show.

That is where the elements lie, their layout with the numbers of the run, then rows in brackets, matrices one after the
other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.cute.dynamic.traced_integers import ints, numbers
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.factories import make_rmem_tensor
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tensors.value import TensorSSA
from triptych.cute.tracing.device import tracing
from triptych.hooks import ignore_values, no_values
from triptych.layout import ComposedLayout, IntTuple, Layout, flatten, idx2crd, rank, size
from triptych.metastage.calls import printing
from triptych.metastage.calls.printing import BRACES, register_printed
from triptych.metastage.values.binding_time import Range
from triptych.metastage.values.scalars import Float32, Float64, Numeric

_MARGIN = " " * 7


def print_tensor(tensor: Tensor | TensorSSA, *, verbose: bool = False) -> None:
    """Print address, layout and elements of the run. The first mode goes down, the second across.

    With `verbose` every element stands on a line of its own, after its coordinate; the last mode is the fastest.
    """
    if isinstance(tensor, TensorSSA):
        stored = make_rmem_tensor(tensor.shape, tensor.dtype)
        stored.store(tensor)
        tensor = stored
    where, *start = _start(tensor.iterator)
    printing.printf(f"tensor({where} o {{}}, data={' (' if verbose else ''}\n", *start, tensor.layout)
    modes = rank(tensor.layout)
    if verbose:
        _each_element(tensor, ())
        printing.printf(")\n")
        return
    printing.printf(_MARGIN)
    if modes == 1:
        _lines(size(tensor.layout), _MARGIN, lambda row: _row(lambda _: tensor[row], 1))
    else:
        _block(tensor, ())
    printing.printf(")\n")


# Any: a pointer, or a coordinate.
def _start(iterator: Any) -> tuple[Any, ...]:
    """A format and what goes into it: the address that elements begin at, or their first coordinate.

    Registers have no address: to ask for one would keep an array from being registers.
    """
    if not isinstance(iterator, Pointer):
        return "{}", numbers(iterator)
    marks = [iterator.dtype.info.mlir, iterator.memspace.name, f"align<{iterator.alignment}>"]
    marks += [str(mark) for mark in (iterator.swizzle, iterator.operand) if mark is not None]
    if iterator.memspace is AddressSpace.rmem:
        return "ptr({})", ", ".join(marks)
    return "raw_ptr(0x{:016x}: {})", iterator.byte_address(), ", ".join(marks)


def _each_element(tensor: Tensor, coord: tuple[Any, ...]) -> None:
    if len(coord) < rank(tensor.layout):
        _repeat(size(tensor.layout[len(coord)]), lambda index: _each_element(tensor, (*coord, index)))
        return
    shape = tensor.layout.shape if isinstance(tensor.layout.shape, tuple) else (tensor.layout.shape,)
    shown = tuple(numbers(idx2crd(ints(index), extent)) for index, extent in zip(coord, shape, strict=True))
    printing.printf(f"\t{_form(shown)}=", *flatten(shown))
    _element(tensor[coord])
    printing.printf("\n")


def _block(tensor: Tensor, behind: tuple[Any, ...]) -> None:
    """What is left of a tensor when its last modes have the coordinates `behind`."""
    mode = rank(tensor.layout) - len(behind) - 1
    indent = _MARGIN + " " * (len(behind) + 1)
    printing.printf("[")
    if mode == 1:
        columns = size(tensor.layout[1])
        _lines(size(tensor.layout[0]), indent, lambda row: _row(lambda column: tensor[(row, column, *behind)], columns))
    else:
        _lines(size(tensor.layout[mode]), "\n" + indent, lambda index: _block(tensor, (index, *behind)))
    printing.printf("]")


def _lines(count: IntTuple, indent: str, line: Callable[[Any], None]) -> None:
    """`line` of each index, a comma and a new line between two."""

    def indented(index: Any) -> None:
        tracing().hooks.if_(index > 0, lambda: printing.printf(",\n" + indent), lambda: None)
        line(index)

    _repeat(count, indented)


def _row(element: Callable[[Any], Any], count: IntTuple) -> None:
    def followed(column: Any) -> None:
        _element(element(column))
        printing.printf(", ")

    printing.printf("[")
    _repeat(count, followed)
    printing.printf("]")


def _element(value: object) -> None:
    """A number with a place for its sign, so that columns of either sign stand below one another; or a coordinate."""
    if isinstance(value, tuple):
        printing.printf(_form(value), *flatten(value))
    elif isinstance(value, Numeric) and value.info.kind == "float":
        printing.printf("% f", value if type(value) in (Float32, Float64) else value.to(Float32))
    elif isinstance(value, Numeric) and not value.signed:
        printing.printf(" %u", value)
    else:
        printing.printf("% d", value)


def _form(coord: object) -> str:
    return f"({','.join(map(_form, coord))})" if isinstance(coord, tuple) else "%d"


def _repeat(count: IntTuple, body: Callable[[Any], None]) -> None:
    tracing().hooks.for_(Range(numbers(count)), body, (), (), no_values, ignore_values)


def _layout_parts(layout: Layout) -> tuple[Any, ...]:
    return numbers(layout.shape), ":", numbers(layout.stride)


def _composed_parts(layout: ComposedLayout) -> tuple[Any, ...]:
    return layout.inner, " o ", numbers(layout.offset), " o ", layout.outer


register_printed(Layout, _layout_parts)
register_printed(ComposedLayout, _composed_parts)


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

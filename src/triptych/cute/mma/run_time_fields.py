"""MMA fields that programs change while the kernel runs: whether the accumulator is added.

A field is a variable of each thread, in memory at the start of the kernel, so that setting it in a loop or a branch
means what it says; compilers turn such variables into registers, and those that are never changed into constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from triptych.cute.tensors.factories import make_rmem_tensor
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import UnsetFieldError
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import KernelBody, Trace, place
from triptych.metastage.values.scalars import Boolean, Int32

_TABLE = "fields of products"


def set_field(owner: object, known: object, field: object, value: object) -> None:
    """Give a field of an atom or a tiled product a value, from here on."""
    _require(owner, known, field)
    trace = tracing()
    if trace.kernel is not None:
        _variable(trace, trace.kernel, owner, field, created=True)[0] = Boolean(value).to(Int32)
    elif isinstance(value, bool):
        trace.tables[_TABLE][id(owner), field, None] = (value, owner)
    else:
        raise OperandTypeError(
            "a field of a product is set by the kernel that computes it, or is known while tracing",
            span=place(),
            found=f"set({field}, {value}) in host code",
            expected="True or False, or a call in a `@kernel` function",
        )


def get_field(owner: object, known: object, field: object) -> Boolean:
    """The value of a field."""
    _require(owner, known, field)
    trace = tracing()
    if trace.kernel is not None:
        found: Boolean = _variable(trace, trace.kernel, owner, field, created=False)[0] != 0
        return found
    if (owner_set := trace.tables[_TABLE].get((id(owner), field, None))) is not None:
        return Boolean(owner_set[0])
    raise _unset(field)


def _require(owner: object, known: object, field: object) -> None:
    if known is None or field is not known:
        raise OperandTypeError(
            "this product has no such field",
            span=place(),
            found=f"{field} of {owner}",
            expected="no field" if known is None else str(known),
        )


# Any: a tensor of one number.
def _variable(trace: Trace, kernel: KernelBody, owner: object, field: object, *, created: bool) -> Any:
    table, key = trace.tables[_TABLE], (id(owner), field, id(kernel))
    if key not in table:
        given = table.get((id(owner), field, None))
        if given is None and not created:
            raise _unset(field)
        with _at_start(trace, kernel):
            memory = make_rmem_tensor(1, Int32)
            memory[0] = 0 if given is None else int(given[0])
        table[key] = (memory, owner, kernel)  # kept, so that the numbers of both stay theirs
    return table[key][0]


@contextmanager
def _at_start(trace: Trace, kernel: KernelBody) -> Iterator[None]:
    """Emit what the whole kernel sees."""
    insertion, region = trace.builder.insertion, trace.region
    assert kernel.region is not None, "a kernel that is being traced has a region"
    trace.builder.insertion, trace.region = trace.builder.at_start(trace.entry), kernel.region
    try:
        yield
    finally:
        trace.builder.insertion, trace.region = insertion, region


def _unset(field: object) -> UnsetFieldError:
    return UnsetFieldError(
        f"nobody has said what {field} is",
        span=place(),
        found="an MMA that may accumulate into D or overwrite it",
        expected="a call of `set` before it",
        instead=f"tiled_mma.set({field}, False) before the first product, and True after it",
    )

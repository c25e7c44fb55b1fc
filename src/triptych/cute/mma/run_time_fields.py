"""MMA fields that programs change while the kernel runs, such as whether the accumulator is added.

A field is a variable of each thread, in memory at the start of the kernel, so that setting it in a loop or a branch
means what it says; compilers turn such variables into registers, and those that are never changed into constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.factories import make_rmem_tensor
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import UnsetFieldError
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import KernelBody, Trace, place
from triptych.metastage.values.scalars import Boolean, Int32, Numeric
from triptych.support.dataclass import dataclass

_TABLE = "fields of products"


@dataclass(frozen=True, slots=True)
class RunTimeField:
    """A Boolean of an operation that is set while the kernel runs, or the place of its scales in tensor memory."""

    role: str
    """The field of `MmaOperands` that it becomes."""
    initial: bool | None = None
    """What it is before anybody has set it; None: a product before that is refused."""
    scale: type[Numeric] | None = None
    """The type of the scales whose place it is."""

    @property
    def is_address(self) -> bool:
        return self.scale is not None

    def number(self, field: object, value: object) -> Int32:
        """What a program gives, as what the variable holds."""
        if self.scale is None:
            return Boolean(value).to(Int32)
        if isinstance(value, Pointer) and value.memspace is AddressSpace.tmem and value.dtype is self.scale:
            return Int32.of(value.ir_value(), tracing().region)
        raise OperandTypeError(
            f"{field} is a place in tensor memory with scales of the operation's type",
            span=place(),
            found=str(value),
            expected=f"a pointer to {self.scale.__name__} in tensor memory",
            instead=f"tiled_mma.set({field}, scales[None, None, k].iterator)",
        )

    def not_given(self, field: object) -> UnsetFieldError:
        """A product before anybody has set it."""
        if self.is_address:
            found, every = "an MMA with block scales", "scales[None, None, k].iterator) before each product"
            instead = (
                f"tiled_mma.set({field}, {every}, or pairs of operand and scales: cute.gemm(mma, d, [a, sfa], ...)"
            )
        else:
            found = "an MMA that may accumulate into D or overwrite it"
            instead = f"tiled_mma.set({field}, False) before the first product, and True after it"
        message = f"nobody has said what {field} is"
        return UnsetFieldError(
            message, span=place(), found=found, expected="a call of `set` before it", instead=instead
        )


Fields = Mapping[object, RunTimeField]
"""By what programs call them."""


def has_addresses(known: Fields) -> bool:
    """Whether one of the fields is a place in tensor memory."""
    return any(field.is_address for field in known.values())


def set_field(owner: object, known: Fields, field: object, value: object) -> None:
    """Give a field of an atom or a tiled product a value, from here on."""
    _require(owner, known, field)
    trace = tracing()
    if trace.kernel is not None:
        number = known[field].number(field, value)
        _variable(trace, trace.kernel, owner, field, known[field], known[field].initial or False)[0] = number
    elif isinstance(value, bool) and not known[field].is_address:
        trace.tables[_TABLE][id(owner), field, None] = (value, owner)
    else:
        raise OperandTypeError(
            "a field of a product is set by the kernel that computes it, or is known while tracing",
            span=place(),
            found=f"set({field}, {value}) in host code",
            expected="True or False, or a call in a `@kernel` function",
        )


def get_field(owner: object, known: Fields, field: object) -> Any:
    """The value of a field: a Boolean, or an address."""
    _require(owner, known, field)
    trace = tracing()
    if trace.kernel is not None:
        found = _variable(trace, trace.kernel, owner, field, known[field], known[field].initial)[0]
        return found if known[field].is_address else found != 0
    if (owner_set := trace.tables[_TABLE].get((id(owner), field, None))) is not None:
        return Boolean(owner_set[0])
    if (initial := known[field].initial) is not None:
        return Boolean(initial)
    raise known[field].not_given(field)


def _require(owner: object, known: Fields, field: object) -> None:
    if field not in known:
        raise OperandTypeError(
            "this product has no such field",
            span=place(),
            found=f"{field} of {owner}",
            expected=", ".join(map(str, known)) or "no field",
        )


# Any: a tensor of one number.
def _variable(
    trace: Trace, kernel: KernelBody, owner: object, field: object, known: RunTimeField, initial: bool | None
) -> Any:
    table, key = trace.tables[_TABLE], (id(owner), field, id(kernel))
    if key not in table:
        given = table.get((id(owner), field, None))
        first = initial if given is None else given[0]
        if first is None:
            raise known.not_given(field)
        with _at_start(trace, kernel):
            memory = make_rmem_tensor(1, Int32)
            memory[0] = int(first)
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

"""Tensor arguments: element type, layout, alignment and memory are part of a kind, the rest is known at the call.

The integers of the layout are numbers, which the entry point compares, or unknowns, which it reads. An unknown belongs
to its argument (its name begins with a point) or, when the user made it, to all arguments that mention it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from triptych.cute.dynamic.traced_integers import trusted_int
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.runtime.markings import all_dynamic, implicit_leading_mode
from triptych.cute.tensors.factories import make_tensor
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.errors import UndeterminedSymbolError
from triptych.diagnostics.tensor_errors import UnsupportedTensorError
from triptych.interop.dlpack import ELEMENT_CODES, PACKED_ELEMENTS, TensorFacts, element_text
from triptych.interop.fake_views import fake_facts
from triptych.interop.numpy_arrays import array_facts, is_array
from triptych.interop.tensor_views import passing_view
from triptych.layout import Int, Layout, SymInt, leading_dim, substitute
from triptych.layout.symbolic import Atom, Monomial, Symbol
from triptych.layout.tuples import leaves
from triptych.metastage.arguments.argument_kinds import ArgumentKind, Received
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Int32, Int64, Numeric
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.support.dataclass import dataclass
from triptych.support.source import Span

# Integers of a layout in postfix notation, the form in which the compiled signature carries them: `2 n *`.

Rename = Callable[[str], str]


def postfix(value: Int, rename: Rename) -> str:
    """The integer over its unknowns, which are called what `rename` makes of their names."""
    if not isinstance(value, SymInt):
        return str(value)
    first, *others = [_term(monomial, coefficient, rename) for monomial, coefficient in value.terms]
    return " ".join([first, *(f"{other} +" for other in others)])


def _term(monomial: Monomial, coefficient: int, rename: Rename) -> str:
    """An unknown stands for a part of the caller's number; a coefficient that the part divides takes the number."""
    factors: list[str] = []
    for atom in monomial:
        if isinstance(atom, Symbol) and coefficient % atom.divisor == 0:
            coefficient //= atom.divisor
            factors.append(rename(atom.name))
        else:
            factors.append(_atom(atom, rename))
    if coefficient != 1 or not factors:
        factors.insert(0, str(coefficient))
    first, *others = factors
    return " ".join([first, *(f"{other} *" for other in others)])


def _atom(atom: Atom, rename: Rename) -> str:
    if isinstance(atom, Symbol):
        return f"{rename(atom.name)} {atom.divisor} //"
    return f"{postfix(atom.left, rename)} {postfix(atom.right, rename)} {atom.name}"


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class TensorKind:
    """A kind of tensor arguments. Equal kinds are one object (see `tensor_kind`), so that a warm call can tell."""

    element: str
    layout: Layout
    alignment: int
    space: AddressSpace
    _own_key: list[tuple[Any, ...]] = field(default_factory=list, repr=False)
    """The key, once it is known, when all unknowns are the tensor's own."""

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process equal kinds are one object, too."""
        return tensor_kind, (self.element, self.layout, self.alignment, self.space)

    @property
    def is_direct(self) -> bool:
        return self.element not in PACKED_ELEMENTS

    def key(self, names: dict[str, int]) -> tuple[Any, ...]:
        if self._own_key:
            return self._own_key[0]

        def rename(name: str) -> str:
            return name if _is_own(name) else f"#{names.setdefault(name, len(names))}"

        integers = tuple(postfix(value, rename) for value in self._integers())
        unknowns = tuple((rename(symbol.name), symbol.width, symbol.divisor) for symbol in self._symbols())
        key = ("tensor", self.element, self.alignment, self.space.name, integers, unknowns)
        if all(_is_own(symbol.name) for symbol in self._symbols()):
            self._own_key.append(key)
        return key

    @property
    def example(self) -> str:
        """What `example` makes it of; empty for kinds that users describe themselves."""
        rank = len(leaves(self.layout.shape))
        for leading in (None, *range(rank)):
            if self is implicit_kind(self.element, rank, leading):
                return f"{self.element}[{', '.join('::1' if mode == leading else ':' for mode in range(rank))}]"
        return ""

    def leaf(self, path: str, seen: set[str]) -> Leaf:
        rename = _qualified(path)
        shape, stride = (
            tuple(postfix(value, rename) for value in leaves(part)) for part in (self.layout.shape, self.layout.stride)
        )
        unknowns = [
            SymbolicExtent(rename(symbol.name), symbol.width, symbol.divisor)
            for symbol in map(_lone_symbol, self._integers())
            if symbol is not None
        ]
        new = tuple(dict.fromkeys(unknown for unknown in unknowns if unknown.name not in seen))
        seen.update(unknown.name for unknown in new)
        return Leaf(path, self.element, Memory(self.space.value, self.alignment, shape, stride, new))

    def passed(self, value: object) -> Any:
        return value if self.is_direct else passing_view(value)

    def build(self, path: str, values: Received, trace: Trace) -> Tensor:
        rename = _qualified(path)
        pointer = Pointer(next(values), NUMERIC_CLASSES[self.element], self.space, self.alignment)
        known = {symbol.name: _traced(symbol, rename(symbol.name), values, trace) for symbol in self._symbols()}
        return make_tensor(pointer, substitute(self.layout, known))

    def _integers(self) -> Iterator[Int]:
        yield from leaves(self.layout.shape)
        yield from leaves(self.layout.stride)

    def _symbols(self) -> list[Symbol]:
        """The unknowns, each once, in the order of their appearance."""
        values = [value for value in self._integers() if isinstance(value, SymInt)]
        return list(dict.fromkeys(symbol for value in values for symbol in sorted(value.symbols, key=str)))


_KINDS: WeakValueDictionary[tuple[Any, ...], TensorKind] = WeakValueDictionary()


def tensor_kind(element: str, layout: Layout, alignment: int, space: AddressSpace = AddressSpace.gmem) -> TensorKind:
    """The kind; the same object for equal facts as long as anyone holds it."""
    facts = (element, layout, alignment, space)
    known = _KINDS.get(facts)
    if known is None:
        known = _KINDS[facts] = TensorKind(*facts)
    return known


def kind_of_tensor(value: object, path: str, caller: Span | None) -> TensorKind:
    """The kind of a tensor that is passed as it is: all dynamic but the leading step, aligned as its elements are."""
    try:
        if is_array(value):
            known = array_facts(value)
            element, shape, stride = known.element, known.extents, known.strides
        elif (facts := fake_facts(value)) is not None:
            # A symbol of torch's stays one: comparing it would bind what torch compiles to its value.
            element, *integers = facts
            shape, stride = (tuple(n if type(n) is int else 2 for n in part) for part in integers)
        else:
            view = passing_view(value)
            element, shape, stride = element_of_facts(view.facts), view.extents, view.strides
    except UnsupportedTensorError as error:
        error.title = f"argument {path!r}: {error.title}"
        error.span = caller
        raise
    return implicit_kind(element, len(shape), implicit_leading_mode(shape, stride))


@cache
def implicit_kind(element: str, rank: int, leading: int | None) -> TensorKind:
    """The kind of tensors that are passed as they are; the stride of mode `leading` is 1."""
    # A stride of 0 stays unknown too, unlike where a layout is marked: tensors of all strides share the code.
    layout = all_dynamic([2] * rank, [2] * rank, leading, in_a_byte=elements_in_a_byte(element))
    return tensor_kind(element, layout, natural_alignment(element))


def element_of_facts(facts: TensorFacts) -> str:
    """The element type; UnsupportedTensorError when the language has none such."""
    if not facts.element:
        text = element_text(facts)
        raise UnsupportedTensorError(
            f"elements of type {text} cannot be elements of a tensor",
            found=text,
            expected=f"one of {', '.join(ELEMENT_CODES)}",
        )
    return facts.element


def elements_in_a_byte(element: str) -> int:
    """How many elements are packed in one byte; 1 for those that fill bytes."""
    return max(1, 8 // ELEMENT_CODES[element][1])


def natural_alignment(element: str) -> int:
    """The alignment in bytes that elements have by themselves."""
    return max(1, ELEMENT_CODES[element][1] // 8)


def _is_own(name: str) -> bool:
    return name.startswith(".")


def _qualified(path: str) -> Callable[[str], str]:
    return lambda name: path + name if _is_own(name) else name


def _lone_symbol(value: Int) -> Symbol | None:
    """The unknown that an integer is by itself."""
    if not isinstance(value, SymInt) or len(value.terms) > 1:
        return None
    ((monomial, coefficient),) = value.terms
    atom = monomial[0] if len(monomial) == 1 else None
    return atom if isinstance(atom, Symbol) and coefficient == atom.divisor else None


def _traced(symbol: Symbol, name: str, values: Received, trace: Trace) -> Int:
    """An unknown as what compiled code receives for it; the entry point has checked what is declared of it."""
    if name not in values.unknowns:
        raise UndeterminedSymbolError(
            f"the arguments do not say what the unknown {symbol.name} is",
            found=f"{symbol.name} only as a part of other extents and strides",
            expected=f"an extent or stride that is {symbol.name} by itself",
        )
    received = values.unknowns[name]
    if not isinstance(received, _Declared):
        kind = Int32 if symbol.width == 32 else Int64
        received = values.unknowns[name] = _Declared(symbol, kind.of(received, trace.region))
    if received.symbol != symbol:
        raise UndeterminedSymbolError(
            f"the unknown {symbol.name} is declared in two ways",
            found=f"a multiple of {received.symbol.divisor} in {received.symbol.width} bits, and a multiple of "
            f"{symbol.divisor} in {symbol.width} bits",
            expected="one unknown, made once and used in all places",
        )
    return trusted_int(received.number, symbol.divisor, lower=0)


class _Declared(NamedTuple):
    """An unknown that has been received."""

    symbol: Symbol
    number: Int32 | Int64


class PublicArgument:
    """Something with a kind of its own, as a part of another object."""

    __slots__ = ()

    __argument_kind__: Any

    def __c_pointers__(self) -> list[Any]:
        return [self]

    def __get_mlir_types__(self) -> list[ArgumentKind]:
        return [self.__argument_kind__]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Any:
        """What stands for this argument in traced code."""
        (value,) = values
        return value


class DescribedTensor(PublicArgument):
    """A tensor with the kind of argument that it is, real or fake."""

    __slots__ = ()

    __argument_kind__: TensorKind

    @property  # type: ignore[misc]
    def __class__(self) -> type[Tensor]:  # type: ignore[override]
        """`isinstance(x, cute.Tensor)`, which programs ask of arguments too."""
        return Tensor

    @property
    def layout(self) -> Layout:
        """As compiled code will know it."""
        return self.__argument_kind__.layout

    @property
    def memspace(self) -> AddressSpace:
        return self.__argument_kind__.space

    @property
    def element_type(self) -> type[Numeric]:
        return NUMERIC_CLASSES[self.__argument_kind__.element]

    @property
    def dtype(self) -> type[Numeric]:
        return self.element_type

    @property
    def leading_dim(self) -> int | None:
        """The mode whose step is known to be 1."""
        found = leading_dim(self.layout.shape, self.layout.stride)
        assert not isinstance(found, tuple), "shapes of arguments are flat"
        return found

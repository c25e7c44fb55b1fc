"""Structs in memory: named members at fixed offsets, laid out as a C compiler lays them out.

Input: a class whose annotations are numeric types, `struct.MemRange[T, n]`, other structs, and `struct.Align` of these.
Output: for an address, an object whose attributes are the members there.
"""

from __future__ import annotations

import inspect
from typing import Any, TypeAlias

from triptych.cute.memory.element_storage import storage_of
from triptych.cute.memory.pointers import Pointer, recast_ptr
from triptych.cute.tensors.factories import make_tensor
from triptych.cute.tensors.program_integers import IntTuple
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.errors import ElementTypeError, PointerError
from triptych.layout import AnyLayout, Layout, Swizzle
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric, is_number_class, numeric_class
from triptych.support.dataclass import dataclass
from triptych.support.wording import did_you_mean


@dataclass(frozen=True, slots=True)
class ScalarKind:
    """A member that is one number."""

    dtype: type[Numeric]

    @property
    def alignment(self) -> int:
        return storage_of(self.dtype).alignment

    def size_in_bytes(self) -> int:
        return storage_of(self.dtype).size_in_bytes(1)

    def at(self, pointer: Pointer) -> ScalarMember:
        return ScalarMember(recast_ptr(pointer, dtype=self.dtype))


@dataclass(frozen=True, slots=True)
class RangeKind:
    """A member that is numbers side by side: `struct.MemRange[T, n]`."""

    dtype: type[Numeric]
    count: int

    @property
    def alignment(self) -> int:
        return storage_of(self.dtype).alignment

    def size_in_bytes(self) -> int:
        return storage_of(self.dtype).size_in_bytes(self.count)

    def at(self, pointer: Pointer) -> RangeMember:
        return RangeMember(recast_ptr(pointer, dtype=self.dtype), self.count)


@dataclass(frozen=True, slots=True)
class AlignedKind:
    """A member with a stricter alignment than it has by itself: `struct.Align[T, n]`."""

    kind: Kind
    alignment: int

    def size_in_bytes(self) -> int:
        return self.kind.size_in_bytes()

    def at(self, pointer: Pointer) -> Any:
        return self.kind.at(pointer)


class ScalarMember(Pointer):
    """One number of a struct, and the pointer to it. `s.member = x` stores, `s.member.load()` reads."""

    __slots__ = ()

    def __init__(self, ptr: Pointer) -> None:
        for name in Pointer.__slots__:
            setattr(self, name, getattr(ptr, name))

    @property
    def ptr(self) -> Pointer:
        """The pointer, as members of several numbers give theirs."""
        return self


class RangeMember:
    """Numbers of a struct, side by side."""

    __slots__ = ("_ptr", "size")
    __runtime_mutable__ = True

    def __init__(self, ptr: Pointer, size: int) -> None:
        self._ptr = ptr
        self.size = size

    def data_ptr(self) -> Pointer:
        return self._ptr

    def get_tensor(
        self, layout: AnyLayout | IntTuple, swizzle: Swizzle | None = None, dtype: type[Numeric] | None = None
    ) -> Tensor:
        """The numbers as a tensor of a layout, or of a shape, which stands for its compact layout; `swizzle` permutes
        addresses in bytes, `dtype` reads the bytes as another type."""
        plain = swizzle is None and dtype is None
        return make_tensor(self._ptr if plain else recast_ptr(self._ptr, swizzle, dtype), layout)

    def __getitem__(self, index: object) -> Any:
        return Tensor(self._ptr, Layout(self.size, 1))[index]

    def __setitem__(self, index: object, value: object) -> None:
        Tensor(self._ptr, Layout(self.size, 1))[index] = value


class Struct:
    """A struct at an address: its attributes are its members."""

    __slots__ = ("_kind", "ptr")
    __runtime_mutable__ = True

    def __init__(self, kind: struct, pointer: Pointer) -> None:
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "ptr", pointer)

    def __repr__(self) -> str:
        return f"<{self._kind} at {self.ptr}>"

    def __getattr__(self, name: str) -> Any:
        for member in self._kind.members:
            if member.name == name:
                return member.kind.at(self.ptr + member.offset)
        known = [member.name for member in self._kind.members]
        raise AttributeError(f"the struct {self._kind.name} has no member {name!r}. {did_you_mean(name, known)}")

    def __setattr__(self, name: str, value: object) -> None:
        member = getattr(self, name)
        if not isinstance(member, ScalarMember):
            raise ElementTypeError(
                f"`{name}` is not a number that could be assigned",
                span=place(),
                found=f"an assignment to the whole member {self._kind.name}.{name}",
                expected="an assignment to a scalar member, or to an element: `s.member[i] = x`",
            )
        member.store(value)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct and where it is, in bytes."""

    name: str
    kind: Kind
    offset: int


class _MemRange:
    """`MemRange[T, n]`: n numbers side by side."""

    def __getitem__(self, parameters: tuple[Any, int]) -> RangeKind:
        dtype, count = _two("MemRange", parameters)
        return RangeKind(numeric_class(dtype), count)


class _Align:
    """`Align[T, n]`: a member at a multiple of n bytes."""

    def __getitem__(self, parameters: tuple[Any, int]) -> AlignedKind:
        inner, alignment = _two("Align", parameters)
        if alignment < 1 or alignment & (alignment - 1):
            raise PointerError(
                "an alignment is a power of two",
                span=place(),
                found=f"Align[..., {alignment}]",
                expected="1, 2, 4, 8 …",
            )
        kind = _kind_of(inner, "Align")
        return AlignedKind(kind, max(alignment, kind.alignment))


class struct:  # the public name of the decorator
    """Decorates a class: its annotations become members, and an address makes an object of it."""

    MemRange = _MemRange()
    Align = _Align()

    def __init__(self, cls: type) -> None:
        self.name = cls.__name__
        self.__doc__ = cls.__doc__
        self.members: tuple[Member, ...] = tuple(_laid_out(cls))
        self.alignment: int = max((member.kind.alignment for member in self.members), default=1)

    def size_in_bytes(self) -> int:
        """The size, a multiple of the alignment: structs side by side are all aligned."""
        end = max((member.offset + member.kind.size_in_bytes() for member in self.members), default=0)
        return _rounded(end, self.alignment)

    __sizeof__ = size_in_bytes

    def __call__(self, pointer: Pointer) -> Struct:
        """The struct at an address."""
        return Struct(self, pointer)

    at = __call__

    def __repr__(self) -> str:
        members = ", ".join(f"{member.name} at {member.offset}" for member in self.members)
        return f"struct {self.name} ({members}; {self.size_in_bytes()} bytes)"

    def __cache_key__(self) -> tuple[Any, ...]:
        return self.name, self.members


Kind: TypeAlias = ScalarKind | RangeKind | AlignedKind | struct


def _laid_out(cls: type) -> Any:
    offset = 0
    for name, annotation in _annotations(cls).items():
        kind = _kind_of(annotation, f"{cls.__name__}.{name}")
        offset = _rounded(offset, kind.alignment)
        yield Member(name, kind, offset)
        offset += kind.size_in_bytes()


def _annotations(cls: type) -> dict[str, Any]:
    try:
        return inspect.get_annotations(cls, eval_str=True)
    except NameError as error:
        raise ElementTypeError(
            f"an annotation of the struct {cls.__name__} names something unknown",
            span=place(),
            found=str(error),
            expected="names of the module: postponed annotations do not see the variables of a function",
            instead="a module without `from __future__ import annotations`",
        ) from None


def _kind_of(annotation: object, where: str) -> Kind:
    if isinstance(annotation, RangeKind | AlignedKind | struct):
        return annotation
    if is_number_class(annotation):
        return ScalarKind(annotation)
    raise ElementTypeError(
        f"{where} has no layout in memory",
        span=place(),
        found=repr(annotation),
        expected="a numeric type, a struct, struct.MemRange[T, n] or struct.Align[T, n]",
    )


def _two(name: str, parameters: object) -> tuple[Any, int]:
    if isinstance(parameters, tuple) and len(parameters) == 2 and isinstance(parameters[1], int):
        return parameters[0], parameters[1]
    raise ElementTypeError(
        f"{name} has two parameters", span=place(), found=f"{name}[{parameters!r}]", expected=f"{name}[T, n]"
    )


def _rounded(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment

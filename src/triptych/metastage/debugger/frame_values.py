"""Frame values of a stopped thread as a debugger shows them: read from what the thread has stored, never changed.

Input: what a name stood for while tracing. Output: a `Shown`, which makes a Python value of a thread's words when the
program runs. A language registers how its own classes are shown.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from triptych.metastage.values.promotion import TypeInfo
from triptych.support.dataclass import dataclass
from triptych.support.float_formats import FLOAT_FORMATS

_MOST_SHOWN = 8
"""Lanes of tensors that are printed one after the other."""


class Lane(Protocol):
    """A thread of the warp that has stopped."""

    thread: int
    active: bool

    def word(self, slot: int) -> int:
        """A word of 64 bits that the thread has kept."""

    def read(self, address: int, size: int) -> bytes | None:
        """Memory of the process; None where there is none."""

    def warp(self) -> Sequence[Lane]:
        """The threads of its warp, itself included."""


class Shown(Protocol):
    """How a name is shown."""

    def show(self, lane: Lane) -> Any: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """One Python object, known while tracing."""

    value: Any

    def show(self, lane: Lane) -> Any:
        return self.value


class Missing:
    """What stands for a value that is not there."""

    __slots__ = ("_why",)

    def __init__(self, why: str) -> None:
        self._why = why

    def __repr__(self) -> str:
        return f"<{self._why}>"


@dataclass(frozen=True, slots=True)
class Number:
    """A run-time number."""

    slot: int
    info: TypeInfo
    everywhere: bool
    """Whether all lanes have kept it, not only those that are active at the stop."""

    def show(self, lane: Lane) -> Any:
        value = self.of(lane)
        return _CLASSES[type(value)](value).seen(lambda: self.lanes(lane))

    def of(self, lane: Lane) -> bool | int | float:
        """The number of one thread."""
        bits = lane.word(self.slot)
        if self.info.width > 64:
            bits = bits & (1 << 64) - 1 | lane.word(self.slot + 1) << 64
        return decoded(bits, self.info)

    def lanes(self, lane: Lane) -> Lanes:
        """Of every thread of the warp."""
        return Lanes({e.thread: self.of(e) if self.everywhere or e.active else ABSENT for e in lane.warp()})


def decoded(bits: int, info: TypeInfo) -> bool | int | float:
    """The number that bits stand for, as memory has them."""
    bits &= (1 << info.width) - 1
    if info.kind == "bool":
        return bool(bits & 1)
    if info.kind != "float":
        return bits - (1 << info.width) if info.kind == "int" and bits >> info.width - 1 else bits
    if info.mlir in ("f32", "tf32"):
        return float(struct.unpack("f", struct.pack("I", bits))[0])
    if info.mlir == "f64":
        return float(struct.unpack("d", struct.pack("Q", bits))[0])
    return FLOAT_FORMATS[info.mlir].decode(bits)


class _Absent:
    def __repr__(self) -> str:
        return "-"


ABSENT = _Absent()
"""The value of a thread that is elsewhere."""


class Lanes(dict[int, Any]):
    """A value in every thread of a warp, by the number of the thread."""

    def __repr__(self) -> str:
        threads = list(self)
        texts = [repr(value) for value in self.values()]
        if any("\n" in text for text in texts):
            present = [f"thread {t}: {text}" for t, text in zip(threads, texts, strict=True) if text != "-"]
            more = [f"… and {len(present) - _MOST_SHOWN} threads more"] if len(present) > _MOST_SHOWN else []
            return "\n".join(present[:_MOST_SHOWN] + more)
        return f"threads {threads[0]} to {threads[-1]}: {' '.join(texts)}"


class _Seen:
    """A number of one thread that knows those of its warp."""

    _of_lanes: Callable[[], Lanes]

    def seen(self, of_lanes: Callable[[], Lanes]) -> Any:
        self._of_lanes = of_lanes
        return self

    def of_lanes(self) -> Lanes:
        """The numbers of the warp's threads."""
        return self._of_lanes()


class SeenInt(_Seen, int):
    """An integer of a thread."""


class SeenFloat(_Seen, float):
    """A float of a thread."""


class SeenBool(_Seen, int):
    """A truth value of a thread: Python's own has no subclasses."""

    def __repr__(self) -> str:
        return repr(bool(self))


_CLASSES: dict[type, Any] = {bool: SeenBool, int: SeenInt, float: SeenFloat}


@dataclass(frozen=True, slots=True)
class ShownParts:
    """A tuple, list or dictionary of shown values."""

    parts: Sequence[Shown]
    rebuild: Callable[[Sequence[Any]], Any]

    def show(self, lane: Lane) -> Any:
        return self.rebuild([part.show(lane) for part in self.parts])


class Instance:
    """An object of the program whose attributes are run-time values: its attributes can be read."""

    def __init__(self, kind: str, attributes: Mapping[str, Any], brief: bool) -> None:
        self.__dict__.update(attributes)
        self._kind, self._names = kind, () if brief else tuple(attributes)

    def __repr__(self) -> str:
        return f"{self._kind}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._names)})"


@dataclass(frozen=True, slots=True)
class Attributes:
    """How an `Instance` is shown."""

    kind: str
    attributes: Mapping[str, Shown]
    brief: bool

    def show(self, lane: Lane) -> Any:
        return Instance(self.kind, {name: part.show(lane) for name, part in self.attributes.items()}, self.brief)


def as_it_was(value: Any) -> Any:
    """A value that stays what it is when the memory of its thread is gone."""
    if isinstance(value, _Seen):
        found = value.of_lanes()
        return value.seen(lambda: found)
    if type(value) in (tuple, list):
        return type(value)(map(as_it_was, value))
    if type(value) is dict:
        return {key: as_it_was(part) for key, part in value.items()}
    if isinstance(value, Instance):
        value.__dict__.update({name: as_it_was(part) for name, part in vars(value).items()})
    keep = getattr(type(value), "kept", None)
    return value if keep is None else keep(value)


def lanes(value: object) -> Lanes:
    """A name of the stopped frame in every thread of the warp; `-` for threads that are elsewhere."""
    of_lanes = getattr(value, "of_lanes", None)
    if of_lanes is None:
        raise TypeError(
            f"lanes() takes a name whose value differs between threads, not {type(value).__name__}: lanes(x), not "
            "lanes(x + 1)"
        )
    found: Lanes = of_lanes()
    return found

"""Dataclasses that start fast: as the standard ones in all that can be seen, over drawn classes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import operator
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.support.dataclass import dataclass

OPTIONS = st.fixed_dictionaries({name: st.booleans() for name in ("slots", "eq", "repr")})
FIELDS = st.lists(
    st.sampled_from(
        (
            None,
            1,
            dataclasses.field(default=2, compare=False),
            dataclasses.field(default_factory=list, hash=False),
            dataclasses.field(default=3, repr=False, kw_only=True),
            dataclasses.field(init=False, default=4),
            dataclasses.field(kw_only=True),
        )
    ),
    max_size=5,
)


def drawn(decorate: Callable[..., Any], frozen: bool, levels: list[tuple[dict[str, bool], list[Any]]]) -> type | None:
    """A class derived from others, each made by a decorator of dataclasses; None where the order of fields is wrong."""
    made: type = object
    try:
        for level, (options, defaults) in enumerate(levels):
            names = [f"field{level}_{i}" for i in range(len(defaults))]
            namespace: dict[str, Any] = {
                "__annotations__": dict.fromkeys(names, "int") | {"shared": "ClassVar[int]"},
                "__module__": __name__,
                "__qualname__": "Drawn",
                "__doc__": "A class.",
                "shared": 5,
            }
            given = zip(names, copy.deepcopy(defaults), strict=True)
            namespace |= {name: default for name, default in given if default is not None}
            made = decorate(**options, frozen=frozen, order=options["eq"])(type("Drawn", (made,), namespace))
            inspect.signature(made)  # compiles `__init__`, which may refuse the order of defaults
    except (TypeError, SyntaxError):
        return None
    return made


def outcome(look: Callable[[], Any]) -> Any:
    """What something gives or raises."""
    try:
        return look()
    except (TypeError, AttributeError, dataclasses.FrozenInstanceError) as error:
        return type(error), str(error)


def seen(cls: type) -> list[Any]:
    """What a program can see of a dataclass and its objects."""
    required = {
        field.name: i
        for i, field in enumerate(dataclasses.fields(cls))
        if field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    one, two = cls(**required), cls(**required)
    names = [field.name for field in dataclasses.fields(cls)]
    first = "".join(names[:1])
    looks: list[Callable[[], Any]] = [
        lambda: [
            str(parameter)
            for parameter in inspect.signature(cls).parameters.values()
            if "MISSING" not in str(parameter) and "<factory>" not in str(parameter)
        ],
        lambda: list(inspect.signature(cls).parameters),
        lambda: "" if " object at " in repr(one) else repr(one),
        lambda: (one == two, one == 3, one != two),
        lambda: hash(one) == hash(two),
        lambda: [compare(one, two) for compare in (operator.lt, operator.le, operator.gt, operator.ge)],
        lambda: dataclasses.asdict(one),
        lambda: dataclasses.asdict(dataclasses.replace(one, **dict.fromkeys(names[:1], 7))),
        lambda: [(field.name, field.type, field.default, field.compare) for field in dataclasses.fields(one)],
        lambda: setattr(one, first, 9) if names else None,  # of others the standard one with slots says something wrong
        lambda: delattr(one, first) if names else None,
        lambda: [getattr(copy.copy(two), name) for name in names],
        lambda: [getattr(copy.deepcopy(two), name) for name in names],
        lambda: cls.__match_args__,  # type: ignore[attr-defined]  # which dataclasses have
        lambda: (cls.__dict__.get("__slots__"), hasattr(one, "__dict__"), cls.shared),  # type: ignore[attr-defined]
        lambda: cls(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
        lambda: cls(no_such_field=1),
        lambda: dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen,  # type: ignore[attr-defined]
    ]
    return [outcome(look) for look in looks]


@given(frozen=st.booleans(), levels=st.lists(st.tuples(OPTIONS, FIELDS), min_size=1, max_size=3))
def test_a_drawn_class_is_as_the_standard_one(frozen: bool, levels: list[tuple[dict[str, bool], list[Any]]]) -> None:
    standard, fast = (drawn(decorate, frozen, levels) for decorate in (dataclasses.dataclass, dataclass))
    assert (standard is None) == (fast is None)
    if standard is not None and fast is not None:
        assert seen(standard) == seen(fast)


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    kinds: ClassVar[int] = 0
    x: int
    y: int = 2

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("a negative x")


class Labelled(Point):
    """A class that is derived without the decorator."""

    def __init__(self, label: str) -> None:
        super().__init__(len(label))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Own:
    """A class with methods of its own."""

    value: float

    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "own"


def test_objects_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Point(3))) == Point(3)


def test_a_derived_class_has_its_own_signature() -> None:
    assert list(inspect.signature(Labelled).parameters) == ["label"]
    assert Labelled("abc").x == 3


def test_methods_of_the_class_stay() -> None:
    assert (Own(1.0) == Own(2.0), repr(Own(1.0)), hash(Own(1.0)) == hash((1.0,))) == (True, "own", True)


def test_checks_of_the_class_are_made() -> None:
    with pytest.raises(ValueError, match="a negative x"):
        Point(-1)


def test_a_mutable_default_is_refused() -> None:
    with pytest.raises(ValueError, match="use default_factory"):
        dataclass(type("Shared", (), {"__annotations__": {"items": "list"}, "items": []}))


def test_no_module_that_a_compilation_loads_uses_the_standard_decorator() -> None:
    """Counted: classes whose methods the standard decorator has compiled, but for one of each set of options."""
    program = """
import dataclasses
made, process = [], dataclasses._process_class
dataclasses._process_class = lambda cls, *rest: (made.append(cls.__module__), process(cls, *rest))[1]
import numpy, triptych as tt
from triptych import cute
import triptych.driver.compile_stages, triptych.targets.cpu.code_generation
print([name for name in made if name.startswith("triptych") and name != "triptych.support.dataclass"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

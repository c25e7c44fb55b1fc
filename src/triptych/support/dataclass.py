"""Dataclasses that start fast: the standard `dataclass`, except that a method is compiled when it is first called.

The standard decorator writes and compiles the source of six methods: a millisecond for each class, 0.2 seconds for the
classes that compiling a kernel imports, most of which make no object then. `fields`, `replace`, `asdict` and
`inspect.signature` find what they expect.
"""

from __future__ import annotations

import abc
import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache, partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NamedTuple

Fields = dict[str, "Field[Any]"]
_FIELDS = "__triptych_fields__"
_EQUAL = {"__eq__": "=="}
_ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


class _Options(NamedTuple):
    frozen: bool = False
    slots: bool = False
    eq: bool = True
    repr: bool = True
    init: bool = True
    order: bool = False
    weakref_slot: bool = False


def _dataclass(given: type | None = None, /, **options: bool) -> Any:
    """`dataclasses.dataclass`, with those of its options that are `_Options`."""
    chosen = _Options(**options)
    return _made(given, chosen) if given is not None else lambda cls: _made(cls, chosen)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


def _made(given: type, options: _Options) -> type:
    own = _own_fields(given)
    fields = {name: field for base in reversed(given.__mro__[1:]) for name, field in _fields_of(base).items()} | own
    cls = _with_slots(given, fields, options) if options.slots else _with_defaults(given, own)
    for name, attribute in _attributes(cls, fields, options).items():
        # Python puts None in the place of the hash of a class that says when its objects are equal.
        if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
            setattr(cls, name, attribute)
    return abc.update_abstractmethods(cls)


# fields ------------------------------------------------------------------------------------------------------------
def _own_fields(cls: type) -> Fields:
    fields = {}
    for name, kind in inspect.get_annotations(cls).items():
        if not str(kind).startswith(("ClassVar", "typing.ClassVar")):
            default = cls.__dict__.get(name, MISSING)
            field: Field[Any] = default if isinstance(default, Field) else dataclasses.field(default=default)
            if field.default is not MISSING and type(field.default).__hash__ is None:
                raise ValueError(f"{cls.__qualname__}.{name} is a mutable default for all objects: use default_factory")
            field.name, field.type = name, kind
            fields[name] = field
    return fields


def _fields_of(base: type) -> Mapping[str, Field[Any]]:
    own = base.__dict__
    found: Mapping[str, Field[Any]] = own[_FIELDS] if _FIELDS in own else own.get("__dataclass_fields__", {})
    return found


def _with_defaults(cls: type, own: Fields) -> type:
    """The class, with plain values where it has `field(...)`."""
    for name, field in own.items():
        if field.default is not MISSING:
            setattr(cls, name, field.default)
        elif name in cls.__dict__:
            delattr(cls, name)
    return cls


def _with_slots(cls: type, fields: Fields, options: _Options) -> type:
    """A class like it with a slot for each field that no base has one for: slots cannot be added to a class."""
    taken = {name for base in cls.__mro__[1:-1] for name in _slots_of(base)}
    wanted = (*fields, "__weakref__") if options.weakref_slot else tuple(fields)
    left_out = {*fields, "__dict__", "__weakref__"}
    namespace = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    namespace["__slots__"] = tuple(name for name in wanted if name not in taken)
    made: type = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


def _slots_of(base: type) -> Iterable[str]:
    slots = base.__dict__.get("__slots__", ())
    found: Iterable[str] = (slots,) if isinstance(slots, str) else slots
    return found if base.__weakrefoffset__ == 0 else (*found, "__weakref__")


@cache
def _parameters(options: _Options) -> object:
    """What the standard decorator says of the options of a class."""
    return dataclasses.make_dataclass("Any", (), **options._asdict()).__dataclass_params__  # type: ignore[attr-defined]


class _StandardFields:
    """`__dataclass_fields__` of a class, which the standard decorator makes when somebody asks."""

    def __init__(self, cls: type, fields: Fields) -> None:
        self._cls, self._fields = cls, fields

    def __get__(self, *_: object) -> Any:
        typed = [(field.name, field.type, field) for field in self._fields.values()]
        made: Any = dataclasses.make_dataclass("Any", typed, init=False, repr=False, eq=False)
        cls: Any = self._cls
        cls.__dataclass_fields__ = made.__dataclass_fields__
        return made.__dataclass_fields__


# methods -----------------------------------------------------------------------------------------------------------
def _attributes(cls: type, fields: Fields, options: _Options) -> dict[str, Any]:
    made: dict[str, Any] = {
        _FIELDS: fields,
        "__dataclass_params__": _parameters(options),
        "__dataclass_fields__": _StandardFields(cls, fields),
        "__match_args__": tuple(name for name, field in fields.items() if field.init and field.kw_only is not True),
    }
    if options.init and "__init__" not in cls.__dict__:
        compiled = partial(_compiled_init, cls, fields, options.frozen)
        made |= {"__init__": _first_call(cls, "__init__", compiled), "__signature__": _Signature(cls, compiled)}
    if options.repr:
        made["__repr__"] = _repr(tuple(name for name, field in fields.items() if field.repr))
    for name, operator in {**(_EQUAL if options.eq else {}), **(_ORDER if options.order else {})}.items():
        made[name] = _first_call(cls, name, partial(_compiled_comparison, cls, fields, name, operator))
    if options.eq:
        made["__hash__"] = None
        if options.frozen:
            made["__hash__"] = _first_call(cls, "__hash__", partial(_compiled_hash, cls, fields))
    if options.frozen:
        made |= _refusals(cls, frozenset(fields)) | (_state(tuple(fields)) if options.slots else {})
    return made


def _first_call(cls: type, name: str, compiled: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """A method that compiles what takes its place."""

    def method(*args: object, **kwargs: object) -> Any:
        made = compiled()
        setattr(cls, name, made)
        return made(*args, **kwargs)

    return method


class _Signature:
    """The signature of a class whose `__init__` may not be compiled yet."""

    def __init__(self, cls: type, compiled: Callable[[], Callable[..., Any]]) -> None:
        self._cls, self._compiled = cls, compiled

    def __get__(self, _: object, owner: type) -> inspect.Signature:
        if owner is not self._cls:
            raise AttributeError("a class that is derived from a dataclass has a signature of its own")
        signature = inspect.signature(self._compiled())
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _compiled_init(cls: type, fields: Fields, frozen: bool) -> Callable[..., None]:
    used: dict[str, object] = {"_MISSING": MISSING, "_set": object.__setattr__}
    lines: list[str] = []
    positional: list[str] = ["self"]
    keywords: list[str] = []
    for name, field in fields.items():
        default, value = "", name
        if field.default_factory is not MISSING:
            used[f"_make_{name}"] = field.default_factory
            default, value = "=_MISSING", f"_make_{name}() if {name} is _MISSING else {name}"
        elif field.default is not MISSING:
            used[f"_default_{name}"], default = field.default, f"=_default_{name}"
        if field.init:
            (keywords if field.kw_only is True else positional).append(name + default)
        elif default:
            value = f"_make_{name}()" if default == "=_MISSING" else default[1:]
        else:
            continue
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    lines += ["self.__post_init__()"] if getattr(cls, "__post_init__", None) is not None else []
    taken = ", ".join((*positional, *(("*", *keywords) if keywords else ())))
    made = _compiled(cls, "__init__", taken, lines or ["pass"], used)
    made.__annotations__ = {name: field.type for name, field in fields.items() if field.init} | {"return": None}
    return made


def _compiled_comparison(cls: type, fields: Fields, name: str, operator: str) -> Callable[..., Any]:
    compared = [name for name, field in fields.items() if field.compare]
    values = f"{_values('self', compared)} {operator} {_values('other', compared)}"
    line = f"return {values} if other.__class__ is self.__class__ else NotImplemented"
    return _compiled(cls, name, "self, other", [line], {})


def _compiled_hash(cls: type, fields: Fields) -> Callable[..., int]:
    hashed = [name for name, field in fields.items() if (field.compare if field.hash is None else field.hash)]
    return _compiled(cls, "__hash__", "self", [f"return hash({_values('self', hashed)})"], {})


def _values(thing: str, names: Iterable[str]) -> str:
    return f"({''.join(f'{thing}.{name}, ' for name in names)})"


def _compiled(cls: type, name: str, taken: str, lines: list[str], used: Mapping[str, object]) -> Callable[..., Any]:
    """A method. What it uses are parameters of a function around it, so that no module has to have them."""
    namespace: dict[str, Any] = {"__name__": cls.__module__}  # whose frame it is
    body = "\n  ".join(lines)
    exec(f"def outer({', '.join(used)}):\n def {name}({taken}):\n  {body}\n return {name}", namespace)
    made: Callable[..., Any] = namespace["outer"](**used)
    made.__qualname__ = f"{cls.__qualname__}.{name}"
    return made


def _repr(names: tuple[str, ...]) -> Callable[[object], str]:
    @recursive_repr()
    def __repr__(self: object) -> str:
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__


def _refusals(cls: type, names: frozenset[str]) -> dict[str, Any]:
    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]  # of a class that was just made

    def __delattr__(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(names: tuple[str, ...]) -> dict[str, Any]:
    """What `copy` and `pickle` need of objects with slots that cannot be assigned."""

    def __getstate__(self: object) -> tuple[object, ...]:  # who watches the object would watch a list
        return tuple(getattr(self, name) for name in names)

    def __setstate__(self: object, state: tuple[object, ...]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": __getstate__, "__setstate__": __setstate__}

"""Tokens of Python values: structural, the same in every process, different whenever the value differs.

A `Walk` reads values and lists the definitions (functions, classes, modules) they mention; each definition is read
once, so cycles end and the token grows with the program, not with the number of paths through it.
"""

from __future__ import annotations

import sys
from abc import get_cache_token
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import Enum
from functools import cached_property, partial
from itertools import pairwise
from operator import itemgetter
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any, Protocol, TypeAlias

from triptych.fingerprint.contents import (
    CURRENT,
    ENVIRONMENT,
    MOST_BYTES,
    STATES,
    VIEWS,
    WEAK,
    as_buffer,
    is_settled,
    settled_digest,
    size_in_bytes,
)
from triptych.fingerprint.definitions import (
    POSITION,
    can_be_registered_with,
    class_token,
    function_parts,
    module_token,
    registered,
)
from triptych.fingerprint.free_variables import MISSING, cell_value
from triptych.fingerprint.function_source import code_token
from triptych.fingerprint.primitive_tokens import (
    ATOMS,
    MOST_DEFINITIONS,
    LargeArrayError,
    Token,
    UnstableConstexprError,
    digest,
    process_local_token,
    too_much_read,
)
from triptych.fingerprint.releases import FRAMEWORK, class_name, import_name, is_framework, is_read, named, release
from triptych.support.instances import (
    builtin_content,
    has_own_order,
    hides_state,
    is_frozen_dataclass,
    pickling_description,
    visible_state,
)

Definition: TypeAlias = FunctionType | type | ModuleType

SETTLED_MODULES = frozenset({"dataclasses", "datetime", "decimal", "fractions", "pathlib", "re", "typing", "uuid"})
"""Instances of their classes do not change, so they need no watching."""

ENUM_ENTRIES = frozenset({"_value_", "_name_", "_sort_order_", "__objclass__", "_inverted_"})
"""Attributes of a member that its class makes, some of them late."""


def token(value: object) -> Token:
    """The token of one value with everything it mentions; UnstableConstexprError when it has no stable content."""
    walk = Walk()
    return ("token", walk.strict_value(value, "value"), *walk.all_definitions())


def definition_token(definition: Definition, walk: Walk) -> Token:
    """What a definition says, without where it stands."""
    if isinstance(definition, FunctionType):
        return tuple((part, said) for part, _, said in function_parts(definition, walk.value) if part != POSITION)
    if isinstance(definition, ModuleType):
        return module_token(definition, walk.value)
    return class_token(definition, walk.value)


class _Unread:
    """Stands for a value that could not be read to its end."""


class _HasMapping(Protocol):
    """The keys, values or items of a dictionary."""

    @property
    def mapping(self) -> MappingProxyType[Any, Any]: ...


class Walk:
    """Turns values into tokens and remembers what it met: `definitions` to read, `changeable` values to watch."""

    def __init__(self) -> None:
        self.changeable: list[object] = []
        self.states: list[Callable[[], object]] = []
        self.behind_weak: list[int] = []
        """Which definitions are behind weak references, by address: nothing keeps them."""
        self.portable = True
        self._definitions: list[tuple[str, Definition]] = []
        self._references: dict[int, Token] = {}
        self._copies: dict[str, int] = {}
        self._sentinels: dict[int, tuple[int, object]] = {}
        self._seen: dict[int, tuple[int, object]] = {}
        self._count = 0
        self._places: dict[int, tuple[object, list[tuple[int, int]]]] = {}
        self._values = 0
        self._behind: frozenset[int] = frozenset()
        self._strict = False
        self._reader = ""
        self._path: list[str] = []

    def value(self, value: object, name: str = "") -> Token:
        """The token of a value that some definition refers to; what has no content is named for this process only."""
        self._seen, self._count = {}, 0
        self._values += 1
        if not self._strict:
            self._path = [": ".join(filter(None, (self._reader, name)))]
        try:
            return self._token(value)
        except RecursionError:
            # Named anew each time: what was not read may have changed.
            return self._unstable(value if self._strict else _Unread(), "it is nested too deeply to be read")

    def strict_value(self, value: object, name: str) -> Token:
        """The token of a value that must have a stable key; `name` is how the error calls it."""
        self._strict, self._path = True, [name]
        try:
            return self.value(value)
        finally:
            self._strict = False

    def root(self, function: FunctionType) -> None:
        """Mentions the function a key is made for: it is read even where a release pins it."""
        self._definition(function, f"{import_name(function.__module__)}.{function.__qualname__}")

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """Every definition met so far."""
        return tuple(definition for _, definition in self._definitions)

    def mentioned(self) -> Iterator[tuple[str, Definition]]:
        """Every definition met so far and, while the caller reads them, those met then."""
        for label, definition in self._definitions:
            self._reader = label
            yield label, definition

    def all_definitions(self) -> tuple[Token, ...]:
        """The tokens of all of them."""
        return tuple((label, definition_token(item, self)) for label, item in self.mentioned())

    def shared(self) -> Token:
        """Which values are one object in several places: two lists that are equal are told apart by `is`."""
        return tuple(sorted(tuple(places) for _, places in self._places.values() if len(places) > 1))

    def _token(self, value: object) -> Token:
        kind = type(value)
        if kind in ATOMS:
            return ATOMS[kind](value)
        if kind in EXACT:
            return EXACT[kind](self, value)
        for known, read in KINDS:
            if issubclass(kind, known):
                return read(self, value)
        return self._instance(value)

    def _inside(self, step: str, value: object) -> Token:
        self._path.append(step)
        found = self._token(value)
        self._path.pop()
        return found

    def _unstable(self, value: object, why: str) -> Token:
        if not self._strict:
            self.portable = False
            self.changeable = [item for item in self.changeable if item is not value]
            return process_local_token(value)
        where = "".join(self._path)
        kind = type(value)
        raise UnstableConstexprError(
            f"{self._path[0]!r} has no stable key, so a change of it could not be noticed",
            found=f"{where} is a {kind.__module__}.{kind.__qualname__}: {why}",
            expected="numbers, text, enums, types, functions, frozen dataclasses, and containers of these",
            instead=f"a frozen dataclass with the settings {kind.__qualname__} stands for, "
            "or a method `__cache_key__(self)` that returns such values",
        )

    # Containers.

    def _once(self, value: object, read: Callable[[], Token]) -> Token:
        """A changeable value: its second mention in the same value is a reference, so cycles end."""
        if id(value) in self._seen:
            return ("same", self._seen[id(value)][0])
        self._places.setdefault(id(value), (value, []))[1].append((self._values, self._count))
        self._number(value)
        self.changeable.append(value)
        return read()

    def _number(self, value: object) -> None:
        """Keeps the value with its number, so that its address stays its own."""
        self._seen[id(value)] = (self._count, value)
        self._count += 1

    def _items(self, items: Iterable[object]) -> tuple[Token, ...]:
        return tuple(self._inside(f"[{index}]", item) for index, item in enumerate(items))

    def _list(self, value: list[object]) -> Token:
        return self._once(value, lambda: ("list", *self._items(value)))

    def _tuple(self, value: tuple[object, ...]) -> Token:
        return ("tuple", *self._items(value))

    def _dict(self, value: dict[object, object]) -> Token:
        """In order: iterating shows it."""
        if value is sys.modules:  # every module of the process: known by name
            return ("global", "sys", "modules")
        return self._once(value, lambda: ("dict", *self._pairs(value)))

    def _pairs(self, value: dict[object, object] | MappingProxyType[object, object]) -> tuple[Token, ...]:
        return tuple((self._token(key), self._inside(f"[{_shown(key)}]", item)) for key, item in value.items())

    def _set(self, value: set[object]) -> Token:
        return self._once(value, lambda: ("set", *self._unordered(value)))

    def _frozenset(self, value: frozenset[object]) -> Token:
        return ("frozenset", *self._unordered(value))

    def _unordered(self, items: Collection[object]) -> tuple[Token, ...]:
        """In order where every process has the same one; else sorted by what each element says alone.

        Two elements that say the same have no order to rely on."""
        if not has_own_order(items):
            return tuple(self._inside("{}", item) for item in items)
        alone = sorted(((digest(Walk().value(item)), item) for item in items), key=itemgetter(0))
        ties = any(left[0] == right[0] for left, right in pairwise(alone))
        found = tuple(self._inside("{}", item) for _, item in alone)
        return (self._unstable(items, "two of its elements cannot be told apart"), *found) if ties else found

    def _slice(self, value: slice) -> Token:
        return ("slice", *self._items((value.start, value.stop, value.step)))

    def _sentinel(self, value: object) -> Token:
        """`object()` has no content, only identity: the first one met, the second one met ..."""
        number, _ = self._sentinels.setdefault(id(value), (len(self._sentinels), value))
        return ("object", number)

    # Definitions.

    def _definition(self, value: Definition, name: str) -> Token:
        """Mentioned by a label that is unique in this walk; read later, once."""
        if id(value) not in self._references:
            self._copies[name] = self._copies.get(name, 0) + 1
            label = name if self._copies[name] == 1 else f"{name}#{self._copies[name]}"
            self._references[id(value)] = ("definition", label)
            self._definitions.append((label, value))
            if len(self._definitions) > MOST_DEFINITIONS:
                raise too_much_read(dict(self._definitions), self._reader or self._path[0])
        return self._references[id(value)]

    def _function(self, value: FunctionType) -> Token:
        name = named(value)
        if name:
            return self._named(*name)
        return self._definition(value, f"{import_name(value.__module__)}.{value.__qualname__}")

    def _named(self, module: str, qualname: str, *pinned: Token) -> Token:
        """What a release pins, with the state it answers from, if there is one."""
        state = STATES.get((module, qualname))
        if state is None:
            return ("name", module, qualname, *pinned)
        self.states.append(state)
        return ("name", module, qualname, *pinned, self._token(state()))

    def _class(self, value: type) -> Token:
        name = class_name(value)
        if can_be_registered_with(value) and get_cache_token not in self.states:
            self.states.append(get_cache_token)
        if name:
            return self._named(*name, *registered(value))
        return self._definition(value, f"{import_name(value.__module__)}.{value.__qualname__}")

    def _module(self, value: ModuleType) -> Token:
        pinned = release(value.__name__)
        return ("module", value.__name__, pinned) if pinned else self._definition(value, import_name(value.__name__))

    # Callables and descriptors.

    def _method(self, value: MethodType) -> Token:
        return ("method", self._token(value.__func__), self._inside(".__self__", value.__self__))

    def _builtin_function(self, value: BuiltinFunctionType) -> Token:
        owner = getattr(value, "__self__", None)
        module = getattr(value, "__module__", None) or ""
        bound = () if owner is None or isinstance(owner, ModuleType) else (self._inside(".__self__", owner),)
        return ("builtin", self._named(module, value.__qualname__, release(module) or ""), *bound)

    def _descriptor(self, value: MethodDescriptorType | WrapperDescriptorType) -> Token:
        return ("descriptor", value.__objclass__.__module__, value.__objclass__.__qualname__, value.__name__)

    def _property(self, value: property) -> Token:
        parts = (value.fget, value.fset, value.fdel, getattr(value, "__dict__", None))
        return ("property", *map(self._token, parts))

    def _wrapper(self, value: staticmethod[..., object] | classmethod[Any, ..., object]) -> Token:
        return (type(value).__name__, self._token(value.__func__))

    def _cached_property(self, value: cached_property[object]) -> Token:
        return ("cached_property", self._token(value.func))

    def _code(self, value: CodeType) -> Token:
        return code_token(value, lambda constant, _: self._token(constant))

    def _cell(self, value: CellType) -> Token:
        content = cell_value(value)
        return ("cell",) if content is MISSING else ("cell", self._token(content))

    # Windows to what other objects hold.

    def _mapping_proxy(self, value: MappingProxyType[object, object]) -> Token:
        return self._once(value, lambda: ("mappingproxy", *self._pairs(value)))

    def _view(self, value: _HasMapping) -> Token:
        return (type(value).__name__, self._mapping_proxy(value.mapping))

    # Any: its dictionary is private to the standard library.
    def _environment(self, value: Any) -> Token:
        return ("environment", self._dict(value._data))

    def _current(self, value: object, content: Callable[[Any], object]) -> Token:
        return self._once(value, lambda: (type(value).__name__, self._token(content(value))))

    def _weak(self, value: object, content: Callable[[Any], object]) -> Token:
        """Read by another walk, so that nothing it meets is kept alive; an object that is behind itself ends it."""
        walk = Walk()
        walk._behind = self._behind | {id(value)}
        if id(value) in self._behind:
            return (type(value).__name__,)
        found = self._once(value, lambda: (type(value).__name__, walk.value(content(value)), *walk.all_definitions()))
        self.portable &= walk.portable
        self.behind_weak += (*map(id, walk.definitions), *walk.behind_weak)
        return found

    # Instances.

    def _enum(self, value: Enum) -> Token:
        """Members of a pinned class are as the release made them."""
        return self._once(value, lambda: self._member(value)) if is_read(type(value)) else self._member(value)

    def _member(self, value: Enum) -> Token:
        extra = {name: item for name, item in visible_state(value).items() if name not in ENUM_ENTRIES}
        name, content = value._name_ or "", self._token(value._value_)
        return ("enum", self._class(type(value)), name, content, self._attributes(extra))

    def _instance(self, value: object) -> Token:
        cls = type(value)
        if hasattr(cls, "__cache_key__"):
            return self._keyed_instance(value)
        if release(cls.__module__) in (FRAMEWORK, "python") and hasattr(value, "__wrapped__"):
            # A decorated function: its tables of results are no content.
            return ("wrapped", cls.__module__, cls.__qualname__, self._inside(".__wrapped__", value.__wrapped__))
        if size_in_bytes(value) > MOST_BYTES:
            return self._large(value)
        return self._own_instance(value) if is_read(cls) else self._foreign_instance(value)

    # Any: `__cache_key__` has been asked of its class.
    def _keyed_instance(self, value: Any) -> Token:
        """Triptych's own methods answer the same for as long as the object lives; a user's may not."""
        cls = type(value)
        content = self._inside(".__cache_key__()", value.__cache_key__())
        if is_framework(value.__cache_key__.__module__):
            return ("keyed", cls.__module__, cls.__qualname__, content)
        self.changeable.append(value)
        return ("keyed", self._class(cls), content)

    def _own_instance(self, value: object) -> Token:
        """Of a class whose code is read: by attributes, so nothing depends on how it would be pickled."""
        if not is_frozen_dataclass(type(value)):
            return self._once(value, lambda: self._state(value))
        # Equal frozen values are one value however they are shared, so they are references only to end a cycle.
        # They are watched all the same: `object.__setattr__` writes to them.
        if id(value) in self._seen:
            return ("same", self._seen[id(value)][0])
        self._number(value)
        self.changeable.append(value)
        found = self._state(value)
        del self._seen[id(value)]
        return found

    def _state(self, value: object) -> Token:
        cls = type(value)
        content = builtin_content(value)
        hidden = self._described(value) if content is None and hides_state(cls) else ()
        return ("instance", self._class(cls), self._attributes(visible_state(value)), self._token(content), hidden)

    def _attributes(self, state: dict[str, object]) -> Token:
        return tuple((name, self._inside(f".{name}", item)) for name, item in state.items())

    def _foreign_instance(self, value: object) -> Token:
        """Of a class that a release pins: by its own description of itself."""
        settled = type(value).__module__ in SETTLED_MODULES or isinstance(value, GenericAlias | UnionType)
        if settled or is_framework(type(value).__module__):
            return self._described(value)
        return self._once(value, lambda: self._bytes(value) or self._described(value))

    def _bytes(self, value: object) -> Token:
        buffer = as_buffer(value)
        if buffer is None:
            return ()
        return ("buffer", type(value).__module__, type(value).__qualname__, *map(self._token, buffer))

    def _large(self, value: object) -> Token:
        """An array that is too large to be compared at each call."""
        cls = type(value)
        if is_settled(value):
            self.changeable.append(value)
            return ("array", str(value.dtype), self._token((value.shape, value.strides)), settled_digest(value))
        raise LargeArrayError(
            f"an array of {size_in_bytes(value) / MOST_BYTES:.1f} MiB cannot be part of the program",
            found=f"{''.join(self._path)} is a {cls.__module__}.{cls.__qualname__}: "
            "finding out whether it was written would take longer than the call",
            expected=f"arrays of at most {MOST_BYTES >> 20} MiB, or NumPy arrays that own their data and are read-only",
            instead="pass it as an argument; or `array.flags.writeable = False`; "
            "or let the object that has it say what counts of it by a method `__cache_key__(self)`",
        )

    def _described(self, value: object) -> Token:
        try:
            described = pickling_description(value)
        except RecursionError:
            raise
        except Exception as error:
            return self._unstable(value, f"it has no content that can be compared ({error})")
        if isinstance(described, str):
            return ("global", getattr(value, "__module__", None) or "", described)
        return ("described", *map(self._token, described))


def _shown(key: object) -> str:
    return repr(key) if type(key) in ATOMS else type(key).__name__


Reader: TypeAlias = Callable[[Walk, Any], Token]

EXACT: dict[type, Reader] = {
    list: Walk._list,
    tuple: Walk._tuple,
    dict: Walk._dict,
    set: Walk._set,
    frozenset: Walk._frozenset,
    slice: Walk._slice,
    object: Walk._sentinel,
}

KINDS: tuple[tuple[type, Reader], ...] = (
    (type, Walk._class),
    (FunctionType, Walk._function),
    (ModuleType, Walk._module),
    (MethodType, Walk._method),
    (BuiltinFunctionType, Walk._builtin_function),
    (MethodWrapperType, Walk._builtin_function),
    (WrapperDescriptorType, Walk._descriptor),
    (MethodDescriptorType, Walk._descriptor),
    (ClassMethodDescriptorType, Walk._descriptor),
    (GetSetDescriptorType, Walk._descriptor),
    (MemberDescriptorType, Walk._descriptor),
    (property, Walk._property),
    (staticmethod, Walk._wrapper),
    (classmethod, Walk._wrapper),
    (cached_property, Walk._cached_property),
    (Enum, Walk._enum),
    (CodeType, Walk._code),
    (CellType, Walk._cell),
    (MappingProxyType, Walk._mapping_proxy),
    (ENVIRONMENT, Walk._environment),
    *((view, Walk._view) for view in VIEWS),
    *((kind, partial(Walk._current, content=content)) for kind, content in CURRENT.items()),
    *((kind, partial(Walk._weak, content=content)) for kind, content in WEAK.items()),
)
"""Kinds of value with their own reading, subclasses included; everything else is an instance."""

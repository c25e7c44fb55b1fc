"""Hook protocol between pre-stage and meta-stage: what rewritten Python calls instead of doing it itself.

The pre-stage turns control flow, calls and mutations into calls of a `Hooks` object; a language answers them by
emitting IR. `PythonHooks` answers them as CPython would, so every rewritten function also runs, and is tested,
as ordinary Python with no MLIR loaded.

Variables a construct assigns are reached through `names`, `get` and `set`: `get()` reads their current values as
a tuple (UNDEFINED where unbound), `set(values)` writes them back. The constructs' bodies are closures that assign
the variables themselves (`nonlocal`), so a plain implementation can ignore all three.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, Final, NoReturn, Protocol

REPLACED_VISITORS: dict[str, Callable[..., Any]] = {}
"""Methods of the preprocessor of syntax trees that the program has replaced, by their names."""


class Undefined:
    """The value of a variable that no path has assigned yet."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<undefined>"

    def __bool__(self) -> NoReturn:
        raise UnboundLocalError("a variable is used before it is assigned")


UNDEFINED: Final = Undefined()


class Dead:
    """The value of a variable that nobody reads any more on the path that ends here."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<dead>"


DEAD: Final = Dead()


class Place(str):
    """An attribute that a construct assigns, among the construct's names: called `variable.attribute`.

    Without an owner the attribute is not tracked: its value is None and stays None."""

    __slots__ = ("attribute", "owner", "span")

    attribute: str
    owner: Any
    span: Any
    """Where it is assigned, if only that has told that it is."""

    def __new__(cls, variable: str, attribute: str, owner: object = None) -> Place:
        place = super().__new__(cls, f"{variable}.{attribute}")
        place.attribute, place.owner, place.span = attribute, owner, None
        return place

    @property
    def value(self) -> Any:
        return None if self.owner is None else getattr(self.owner, self.attribute)

    # Any, as what is read: a type checker would take what is assigned for what is there.
    @value.setter
    def value(self, value: Any) -> None:
        if self.owner is not None:
            setattr(self.owner, self.attribute, value)


RETURNED: Final = "_tt_returned"
RETURN_VALUE: Final = "_tt_return_value"
"""The variables through which an early `return` leaves the regions around it."""

Names = tuple[str, ...]
Get = Callable[[], tuple[Any, ...]]
Set = Callable[[tuple[Any, ...]], None]
Thunk = Callable[[], Any]
Calls = tuple[tuple[Any, str], ...]
"""Methods that every iteration of a loop calls, each as (object, name of the method)."""


def no_values() -> tuple[Any, ...]:
    """`get` of a construct that assigns nothing."""
    return ()


def ignore_values(_values: tuple[Any, ...]) -> None:
    """`set` of a construct that assigns nothing."""


COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
        "is": operator.is_,
        "is not": operator.is_not,
        "in": lambda item, container: item in container,
        "not in": lambda item, container: item not in container,
    }
)

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        **COMPARISONS,
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "//": operator.floordiv,
        "%": operator.mod,
        "**": operator.pow,
        "<<": operator.lshift,
        ">>": operator.rshift,
        "&": operator.and_,
        "|": operator.or_,
        "^": operator.xor,
        "@": operator.matmul,
    }
)
"""What `left op right` calls, for every operator of two operands that evaluates both."""

UNARY: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"-": operator.neg, "+": operator.pos, "~": operator.invert}
)

CONVERSIONS: Mapping[str, Callable[[Any], str]] = MappingProxyType({"s": str, "r": repr, "a": ascii})

AUGMENTED: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "+": operator.iadd,
        "-": operator.isub,
        "*": operator.imul,
        "/": operator.itruediv,
        "//": operator.ifloordiv,
        "%": operator.imod,
        "**": operator.ipow,
        "<<": operator.ilshift,
        ">>": operator.irshift,
        "&": operator.iand,
        "|": operator.ior,
        "^": operator.ixor,
        "@": operator.imatmul,
    }
)


class Hooks(Protocol):
    """Everything rewritten code may ask for. Bodies and operands arrive as closures, values as values."""

    UNDEFINED: Undefined
    DEAD: Dead
    slice: type[slice]

    # control flow -----------------------------------------------------------------------------------------------
    def if_(
        self, test: object, then: Thunk, orelse: Thunk, names: Names = (), get: Get = ..., set: Set = ...
    ) -> None: ...
    def for_(
        self,
        iterable: object,
        body: Callable[[Any], None],
        exits: Names,
        names: Names = (),
        get: Get = ...,
        set: Set = ...,
        calls: Calls = (),
    ) -> None:
        """Run `body(item)` for each item until one of the variables `exits` (a subset of `names`) is true."""

    def while_(
        self,
        test: Thunk | bool,
        body: Thunk,
        exits: Names,
        names: Names = (),
        get: Get = ...,
        set: Set = ...,
        calls: Calls = (),
    ) -> None:
        """Run `body()` while `test()` holds (`while True:` arrives as the constant) and no exit was taken."""

    def guard(self, exits: Names, dead: Names, rest: Thunk, names: Names = (), get: Get = ..., set: Set = ...) -> None:
        """Run `rest`, what follows a possible early exit, unless one of the flags `exits` is true.

        Nobody reads the variables `dead` (a subset of `names`) where an exit leads."""

    def left(self, flags: tuple[Any, ...]) -> tuple[Any, ...]:
        """The exit flags at a point that no path reaches without having taken one of them."""

    def result(self, value: object) -> Any:
        """The value of a function that returned early on some path."""

    def raising(self) -> None:
        """Called just before a `raise` statement runs."""

    def assert_(self, test: object, message: Thunk | None = None) -> None: ...
    def match_subject(self, subject: object) -> Any: ...
    def stop(self) -> None:
        """A statement is about to run; only builds for a debugger say so."""

    def stopping(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What a call of `breakpoint` calls, in the frame that calls it."""

    # expressions ------------------------------------------------------------------------------------------------
    def choose(
        self, test: object, then: Thunk, orelse: Thunk, names: Names = (), get: Get = ..., set: Set = ...
    ) -> Any: ...
    def and_(self, operands: tuple[Thunk, ...], names: Names = (), get: Get = ..., set: Set = ...) -> Any: ...
    def or_(self, operands: tuple[Thunk, ...], names: Names = (), get: Get = ..., set: Set = ...) -> Any: ...
    def not_(self, operand: object) -> Any: ...
    def compare(
        self,
        left: object,
        ops: tuple[str, ...],
        operands: tuple[Thunk, ...],
        names: Names = (),
        get: Get = ...,
        set: Set = ...,
    ) -> Any:
        """A chained comparison; operands after the first are evaluated lazily."""

    def operate(self, op: str, left: object, right: object) -> Any:
        """`left op right`, a single comparison included."""

    def unary(self, op: str, operand: object) -> Any: ...
    def formatted(self, value: object, conversion: str = "", spec: str = "") -> Any:
        """The text of a value in an f-string; the conversion is `s`, `r`, `a` or empty."""

    def hashed(self, key: object) -> Any:
        """A key of a dictionary or an item of a set, which Python is about to hash."""

    def call(self, function: Callable[..., Any], /, *args: object, **kwargs: object) -> Any: ...
    def getitem(self, container: object, key: object) -> Any: ...
    def attribute(self, owner: object, name: str) -> Any:
        """`owner.name`, read."""

    def iterate(self, iterable: object) -> Any:
        """What a comprehension, an unpacking or a `*` iterates over."""

    def context(self, manager: AbstractContextManager[object]) -> Any:
        """What a `with` statement enters and leaves."""

    def within(self, contexts: tuple[Any, ...], body: Thunk, names: Names = (), get: Get = ..., set: Set = ...) -> None:
        """The body of a `with` statement, whose contexts have been entered."""

    def fresh(self, container: object) -> Any:
        """A list, dict, set or generator that the function has just made, and so may change."""

    # variables and mutation -------------------------------------------------------------------------------------
    def load(self, value: object, name: str) -> Any:
        """Read a variable that some path leaves unassigned."""

    def known(self, value: object) -> Any:
        """Read a variable that every path to this point has assigned, although some construct saw it undefined."""

    def annotate(self, value: object, annotation: Thunk, name: str) -> Any: ...
    def augment(self, op: str, target: object, value: object) -> Any: ...
    def setitem(self, container: object, key: object, value: object) -> None: ...
    def delitem(self, container: object, key: object) -> None: ...
    def setattr(self, target: object, name: str, value: object) -> None: ...
    def delattr(self, target: object, name: str) -> None: ...
    def place(self, owner: object, attribute: str, name: str) -> Place:
        """The attribute of the variable `name`, which the construct that follows assigns, as a variable itself."""


class PythonHooks:
    """CPython's own meaning of every hook."""

    UNDEFINED = UNDEFINED
    DEAD = DEAD
    slice = slice

    def if_(
        self,
        test: object,
        then: Thunk,
        orelse: Thunk,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> None:
        if test:
            then()
        else:
            orelse()

    def for_(
        self,
        iterable: Iterable[Any],
        body: Callable[[Any], None],
        exits: Names,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
        calls: Calls = (),
    ) -> None:
        for item in iterable:
            body(item)
            if exits and _any_set(exits, names, get):
                break

    def while_(
        self,
        test: Thunk | bool,
        body: Thunk,
        exits: Names,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
        calls: Calls = (),
    ) -> None:
        while test is True or (test is not False and test()):
            body()
            if exits and _any_set(exits, names, get):
                break

    def guard(
        self,
        exits: Names,
        dead: Names,
        rest: Thunk,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> None:
        if not _any_set(exits, names, get):
            rest()

    def left(self, flags: tuple[Any, ...]) -> tuple[Any, ...]:
        return flags

    def result(self, value: object) -> Any:
        return value

    def raising(self) -> None:
        """CPython raises; nothing to do before."""

    def assert_(self, test: object, message: Thunk | None = None) -> None:
        # No `assert`: pytest writes words of its own into those of a package that has a plug-in for it.
        if __debug__ and not test:
            raise AssertionError if message is None else AssertionError(message())

    def match_subject(self, subject: object) -> Any:
        return subject

    def stop(self) -> None:
        """Python has line events of its own."""

    def stopping(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def choose(
        self,
        test: object,
        then: Thunk,
        orelse: Thunk,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> Any:
        return then() if test else orelse()

    def and_(
        self,
        operands: tuple[Thunk, ...],
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> Any:
        for operand in operands:
            value = operand()
            if not value:
                break
        return value

    def or_(
        self,
        operands: tuple[Thunk, ...],
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> Any:
        for operand in operands:
            value = operand()
            if value:
                break
        return value

    def not_(self, operand: object) -> Any:
        return not operand

    def compare(
        self,
        left: object,
        ops: tuple[str, ...],
        operands: tuple[Thunk, ...],
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> Any:
        for op, operand in zip(ops, operands, strict=True):
            right = operand()
            outcome = COMPARISONS[op](left, right)
            if not outcome:
                break
            left = right
        return outcome

    def operate(self, op: str, left: object, right: object) -> Any:
        return OPERATORS[op](left, right)

    def unary(self, op: str, operand: object) -> Any:
        return UNARY[op](operand)

    def formatted(self, value: object, conversion: str = "", spec: str = "") -> Any:
        return format(CONVERSIONS[conversion](value) if conversion else value, spec)

    def hashed(self, key: object) -> Any:
        return key

    def call(self, function: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:
        return function(*args, **kwargs)

    # Any: whether a container of the program has items is for Python to say; so for those that follow.
    def getitem(self, container: Any, key: object) -> Any:
        return container[key]

    def attribute(self, owner: object, name: str) -> Any:
        return getattr(owner, name)

    def iterate(self, iterable: object) -> Any:
        return iterable

    def context(self, manager: AbstractContextManager[object]) -> Any:
        return manager

    def within(
        self,
        contexts: tuple[Any, ...],
        body: Thunk,
        names: Names = (),
        get: Get = no_values,
        set: Set = ignore_values,
    ) -> None:
        body()

    def fresh(self, container: object) -> Any:
        return container

    def load(self, value: object, name: str) -> Any:
        if value is UNDEFINED:
            raise UnboundLocalError(f"cannot access local variable {name!r} where it is not associated with a value")
        return value

    def known(self, value: object) -> Any:
        return value

    def annotate(self, value: object, annotation: Thunk, name: str) -> Any:
        return value

    def augment(self, op: str, target: object, value: object) -> Any:
        return AUGMENTED[op](target, value)

    def setitem(self, container: Any, key: object, value: object) -> None:
        container[key] = value

    def delitem(self, container: Any, key: object) -> None:
        del container[key]

    def setattr(self, target: object, name: str, value: object) -> None:
        setattr(target, name, value)

    def delattr(self, target: object, name: str) -> None:
        delattr(target, name)

    def place(self, owner: object, attribute: str, name: str) -> Place:
        return Place(name, attribute)


def _any_set(exits: Names, names: Names, get: Get) -> bool:
    values = get()
    return any(values[names.index(flag)] for flag in exits)

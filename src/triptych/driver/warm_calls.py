"""Warm calls: the `__call__` of a function that has been compiled for arguments like the ones it is given.

One generated function asks everything at once (the types of the arguments, the values of the static ones, whether
anything the compiled code depends on has changed) and calls the native entry point. Asked in separate steps, the same
questions take three times as long as the native call itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import Any

from triptych.driver.boundary import for_user
from triptych.fingerprint.guards import Guard
from triptych.interop.torch_tracers import as_operator, tell_torch
from triptych.metastage.arguments.static_parts import identity
from triptych.metastage.trace.trace import TRACING, active
from triptych.support.config import OVERRIDES

_CONSTANTS = frozenset({bool, int, str, bytes})
"""Equal values of one of these types are the same constant; a float is not (`0.0 == -0.0`)."""

_TEMPLATE = """
def __call__(self, *args, **kwargs):
    try:
        {given} = args{others}
        warm = {named} and not OVERRIDES and (not TRACING or active() is None) and {tests}
    except Exception:  # another number of arguments, or a name that is gone
        warm = False
    if warm:
        try:
            returned = native({dynamic})
        except Exception as error:
            for_user(error)
            raise
        if returned is not NotImplemented:  # as for tensors of another type, rank or stride
            return returned
    return otherwise(self, *args, **kwargs)
"""


def places(function: FunctionType, parameters: Sequence[str], keywords: Mapping[str, object]) -> list[str] | None:
    """Where a call finds its last arguments, which it does not give by position: in its keywords, or in the defaults.

    None where that is not all: a keyword that is no parameter, or one that takes any number of arguments.
    """
    code, defaults = function.__code__, function.__kwdefaults__ or {}
    if code.co_flags & (CO_VARARGS | CO_VARKEYWORDS) or not keywords.keys() <= {*parameters}:
        return None
    positional = code.co_varnames[: code.co_argcount]
    found = {name: f"function.__defaults__[{i - len(positional)}]" for i, name in enumerate(positional)}
    found |= {name: f"function.__kwdefaults__[{name!r}]" for name in defaults}
    return [f"kwargs[{name!r}]" if name in keywords else found[name] for name in parameters]


def warm_call(
    native: Callable[..., Any],
    arguments: Sequence[object],
    static: Sequence[bool],
    guard: Guard,
    otherwise: Callable[..., Any],
    function: FunctionType,
    elsewhere: Sequence[str] = (),
) -> Callable[..., Any]:
    """A `__call__` for arguments like these (the same, where static); it hands all others to `otherwise`.

    `elsewhere` are the `places` of the last of them.
    """
    names: dict[str, Any] = {**guard.names, "native": native, "otherwise": otherwise, "function": function}
    names |= {"OVERRIDES": OVERRIDES, "TRACING": TRACING, "active": active, "for_user": for_user}
    tests: list[str] = []
    for i, (argument, fixed) in enumerate(zip(arguments, static, strict=True)):
        names[f"kind{i}"] = type(argument)
        tests.append(f"type(given{i}) is kind{i}")
        kind = None if fixed else getattr(argument, "__argument_kind__", None)
        if kind is not None:
            names[f"like{i}"] = kind
            tests.append(f"given{i}.__argument_kind__ is like{i}")
        if fixed:
            names[f"like{i}"] = argument
            tests.append(_same(i, argument, names))
    given = [f"given{i}" for i in range(len(arguments))]
    by_position = given[: len(given) - len(elsewhere)]
    named = sum(place.startswith("kwargs[") for place in elsewhere)
    text = _TEMPLATE.format(
        given=f"({''.join(f'{name}, ' for name in by_position)})",
        others="".join(
            f"\n        {name} = {place}" for name, place in zip(given[len(by_position) :], elsewhere, strict=True)
        ),
        named=f"len(kwargs) == {named}" if named else "not kwargs",
        tests=" and ".join([*tests, *guard.tests]) or "True",
        dynamic=", ".join(name for name, fixed in zip(given, static, strict=True) if not fixed),
    )
    exec(warm_code(text), names)
    call: Callable[..., Any] = as_operator(names["__call__"])
    tell_torch()
    return call


@lru_cache(maxsize=256)
def warm_code(text: str) -> CodeType:
    """Specializations differ in the names' values only. Where there are more than warm calls, each is made anew."""
    return compile(text, "<guard>", "exec")


def _same(i: int, argument: object, names: dict[str, Any]) -> str:
    """Whether a static argument is the one that the code was compiled for: by value, where its table knows it so."""
    if type(argument) in _CONSTANTS:
        return f"given{i} == like{i}"
    known = identity(argument)
    if known == id(argument):
        return f"given{i} is like{i}"
    names |= {"identity": identity, f"known{i}": known}
    return f"(given{i} is like{i} or identity(given{i}) == known{i})"

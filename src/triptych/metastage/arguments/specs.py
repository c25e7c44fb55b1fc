"""Arguments of a compiled function: what each one is at run time, decided from its annotation and its value.

A parameter annotated `Constexpr` or `type[...]` (and an unannotated `self` or `cls`) is part of the program, and so are
fields that a class annotates so, and the Python ints in a parameter whose annotation has the mark `STATIC_INTEGERS`.
Every other argument becomes run-time values: a number, something of a language's own kind (`argument_kinds`), or a
tuple, NamedTuple, dataclass or adapted object made of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from operator import is_
from types import FunctionType
from typing import Any, Protocol, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

from triptych.diagnostics.runtime_errors import ArgumentTypeError
from triptych.interop.foreign_arrays import advice
from triptych.interop.streams import is_stream_class, stream_handle
from triptych.interop.torch_tensors import check_described
from triptych.metastage.arguments.argument_kinds import ArgumentKind, Received, WantedArgument, c_values, kind_of
from triptych.metastage.arguments.static_parts import StaticKey, attributes, static_part
from triptych.metastage.arguments.streams import EVENT, STREAM, is_event_class
from triptych.metastage.trace.errors import ArgumentBindingError, ArgumentKindError
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.aggregates import Parts, list_parts, take_apart
from triptych.metastage.values.binding_time import (
    STATIC_INTEGERS,
    Constexpr,
    is_annotation_of_parts,
    keeps_integers,
    part_annotations,
)
from triptych.metastage.values.promotion import PYTHON_NUMBERS
from triptych.metastage.values.provenance import note_of_python
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Numeric, is_number_class, numeric_class
from triptych.stages import Leaf
from triptych.support import tracebacks
from triptych.support.dataclass import dataclass
from triptych.support.source import Span
from triptych.support.wording import did_you_mean, with_article

T = TypeVar("T")


class Keywords(dict[str, Any]):
    """What a parameter `**kwargs` takes: the names are static, the values are arguments."""


class JitArgument(Protocol):
    """The argument protocol: an object that crosses from Python into compiled code as parts of its own choosing."""

    def __jit_parts__(self) -> tuple[Any, ...]: ...
    def __from_jit_parts__(self, parts: Sequence[Any]) -> Any: ...


def is_jit_argument(value: object) -> TypeGuard[JitArgument]:
    """Asked of the class: `isinstance` takes 20 us for a protocol."""
    return hasattr(type(value), "__jit_parts__")


_CLASSES_BY_DTYPE = {
    {"Boolean": "bool"}.get(name, name.lower()): cls
    for name, cls in NUMERIC_CLASSES.items()
    if cls.width in (1, 8, 16, 32, 64) and not name.startswith("Float8")
}
"""Numeric classes by the name that array libraries give the type: `int32`, `bfloat16`, `bool`."""

_ADAPTERS: dict[type, Callable[[Any], Any]] = {}


def register_jit_arg_adapter(kind: type) -> Callable[[T], T]:
    """Decorator: let objects of a type you do not own be arguments; the adapter turns one into something that is."""

    def register(adapter: T) -> T:
        assert callable(adapter), "an adapter is called with the object"
        _ADAPTERS[kind] = adapter
        return adapter

    return register


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as declared: static, or dynamic and annotated as a numeric class, items of such, a stream, or
    something whose Python ints are static."""

    name: str
    static: bool
    declared: Any
    is_python_int: bool = False
    """Annotated as `int` or `bool`: of the run for who calls from Python, and what Python has for other functions."""


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """What an argument is at run time: one number (`dtype`), something of a language's own `kind`, or an aggregate
    (`parts`), `static` objects aside."""

    path: str
    dtype: str = ""
    parts: Parts | None = None
    shapes: tuple[ArgumentSpec, ...] = ()
    static: Any = None
    kind: ArgumentKind | None = None
    is_constant: bool = False
    """Declared Constexpr: a call of compiled code may leave it out, which is to say None."""

    @property
    def is_direct(self) -> bool:
        """Whether the compiled function takes the Python object as it is."""
        return bool(self.dtype) or (self.kind is not None and self.kind.is_direct)

    @property
    def is_nothing(self) -> bool:
        """Whether compiled code receives nothing for it, as for None."""
        return next(self.leaves(set()), None) is None

    @property
    def pattern(self) -> Any:
        """How it is made of what compiled code receives, for JSON: 1 is received, 0 is not, and a list is an aggregate;
        of what is known to the code, the text."""
        if self.dtype or self.kind is not None:
            return int(not self.is_nothing)
        if self.parts is not None:
            return [shape.pattern for shape in self.shapes]
        return {"is": repr(self.static), "may be left out": self.is_constant}

    def key(self, names: dict[str, int]) -> Any:
        """Equal keys mean equal compiled signatures; `names` numbers the unknowns that several arguments share."""
        if self.dtype:
            return self.dtype
        if self.kind is not None:
            return self.kind.key(names)
        if self.parts is None:
            return ("static", StaticKey(self.static))
        return (self.parts.key, *(shape.key(names) for shape in self.shapes))

    def leaves(self, seen: set[str]) -> Iterator[Leaf]:
        """Its leaves; `seen` are the unknowns that earlier ones have."""
        if self.dtype:
            yield Leaf(self.path, self.dtype)
        if self.kind is not None:
            yield self.kind.leaf(self.path, seen)
        for shape in self.shapes:
            yield from shape.leaves(seen)

    def flatten(self, value: object) -> Iterator[Any]:
        """The Python values that are passed for an argument of this shape."""
        if self.dtype:
            number = typed_number(adapted(value))
            yield number.__tvm_ffi_value__() if isinstance(number, Numeric) else number
        elif self.kind is not None:
            yield self.kind.passed(adapted(value))
        elif self.parts is not None:
            parts = argument_parts(adapted(value))
            if parts is None or (parts.key != self.parts.key and not self._is_by_position(value)):
                raise ArgumentTypeError(
                    f"argument {self.path!r} must be made like the one that the function was compiled for",
                    span=tracebacks.caller(),
                    found=with_article(type(value).__name__) if parts is None else parts.summary(),
                    expected=self.parts.summary(),
                )
            for shape, part in zip(self.shapes, parts.values, strict=True):
                yield from shape.flatten(part)
        elif StaticKey(value) != StaticKey(self.static) and not (self.is_constant and value is None):
            raise ArgumentTypeError(
                f"argument {self.path!r} was {self.static!r} when the function was compiled",
                span=tracebacks.caller(),
                found=repr(value) if type(value) is int else with_article(type(value).__name__),
                expected=repr(self.static),
                instead="a compilation of its own for other values",
            )

    def _is_by_position(self, value: object) -> bool:
        """Whether it is a plain tuple for a NamedTuple, which is how programs hand one on that have taken it apart."""
        assert self.parts is not None, "asked of aggregates"
        return type(value) is tuple and issubclass(self.parts.key[0], tuple) and len(value) == len(self.shapes)

    def build(self, values: Received, trace: Trace) -> Any:
        """The argument as the traced function sees it."""
        if self.dtype:
            return note_of_python(NUMERIC_CLASSES[self.dtype].of(next(values), trace.region))
        if self.kind is not None:
            return self.kind.build(self.path, values, trace)
        if self.parts is None:
            return self.static
        built = self.parts.rebuild([shape.build(values, trace) for shape in self.shapes])
        if not isinstance(built, tuple):
            trace.borrowed[id(built)] = built
        return built


def parameters_of(function: FunctionType) -> tuple[Parameter, ...]:
    """The parameters with their annotations resolved."""
    annotations = _annotations(function)
    return tuple(
        _parameter(name, annotations.get(name), index == 0)
        for index, name in enumerate(_signature(function).parameters)
    )


def _annotations(function: FunctionType) -> dict[str, Any]:
    try:
        return inspect.get_annotations(function, eval_str=True)
    except Exception:  # an annotation naming something undefined: resolve the others one by one
        return {name: _resolve(function, text) for name, text in function.__annotations__.items()}


def _resolve(function: FunctionType, annotation: object) -> Any:
    if not isinstance(annotation, str):
        return annotation
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    names = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    try:
        return eval(annotation, names)
    except Exception:
        return None


def _parameter(name: str, annotation: object, first: bool) -> Parameter:
    origin = getattr(annotation, "__origin__", None)
    static = any(declared is kind for declared in (annotation, origin) for kind in (Constexpr, type))
    if annotation is None and first and name in ("self", "cls"):
        static = True
    if keeps_integers(annotation):
        return Parameter(name, static, STATIC_INTEGERS)
    if not isinstance(annotation, type):
        return Parameter(name, static, annotation if is_annotation_of_parts(annotation) else None)
    static = static or issubclass(annotation, type)
    numeric = is_number_class(annotation) or annotation in PYTHON_NUMBERS
    otherwise = STREAM if is_stream_class(annotation) else getattr(annotation, "__wanted_argument__", None)
    return Parameter(name, static, numeric_class(annotation) if numeric else otherwise, annotation in (int, bool))


def bind(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any], caller: Span | None) -> dict[str, Any]:
    """Arguments by parameter name, defaults applied."""
    signature = _signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise _cannot_bind(function, signature, args, kwargs, error, caller) from None
    bound.apply_defaults()
    rest = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)
    given = {} if rest is None else {rest: Keywords(bound.arguments[rest])}
    return {**bound.arguments, **given}


def defaults_of(function: FunctionType) -> dict[str, Any]:
    """What parameters are that a call does not give, by name."""
    return {p.name: p.default for p in _signature(function).parameters.values() if p.default is not p.empty}


_SIGNATURES: WeakKeyDictionary[Any, tuple[tuple[Any, ...], inspect.Signature]] = WeakKeyDictionary()


def _signature(function: FunctionType) -> inspect.Signature:
    """`inspect.signature`, which takes 20 us, remembered until the function gets other code or defaults.

    Of the function itself: what `functools.wraps` says of another one is no way to call this one.
    """
    made_of = (function.__code__, function.__defaults__, function.__kwdefaults__)
    known = _SIGNATURES.get(function)
    if known is None or not all(map(is_, known[0], made_of)):
        # Of the function itself: what it wraps has other parameters.
        known = _SIGNATURES[function] = (made_of, inspect.signature(function, follow_wrapped=False))
    return known[1]


def _cannot_bind(
    function: FunctionType,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: TypeError,
    caller: Span | None,
) -> ArgumentBindingError:
    """A misspelt name is the likely mistake, so it is reported before what it leaves missing."""
    names = list(signature.parameters)
    unknown = [name for name in kwargs if name not in names]
    given = [*(type(arg).__name__ for arg in args), *(f"{name}=" for name in kwargs)]
    return ArgumentBindingError(
        f"{function.__qualname__}(): " + (f"no parameter is called {unknown[0]!r}" if unknown else str(error)),
        span=caller,
        found=f"{function.__name__}({', '.join(given)})",
        expected=f"{function.__name__}({', '.join(names)})",
        instead=(did_you_mean(unknown[0], names) if unknown else "") or f"`{function.__name__}({', '.join(names)})`",
    )


def arrange(function: FunctionType, bound: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by name as a call takes them: positional-only, `*args` and `**kwargs` parameters honoured."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, parameter in _signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += bound[name]
        elif parameter.kind is parameter.VAR_KEYWORD:
            keywords |= bound[name]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            keywords[name] = bound[name]
        else:
            positional.append(bound[name])
    return positional, keywords


def shape_of(value: object, declared: object, path: str, caller: Span | None) -> ArgumentSpec:
    """What `value` is at run time."""
    if declared is Constexpr:
        return ArgumentSpec(path, static=value, is_constant=True)
    value = adapted(value)
    if declared is STREAM and value is not None and not hasattr(type(value), "__argument_kind__"):
        stream_handle(value, caller)
        return ArgumentSpec(path, kind=STREAM)
    if isinstance(declared, WantedArgument):
        if type(value) in (list, tuple, str, *PYTHON_NUMBERS):
            raise _unwanted(value, declared, path, caller)
    elif isinstance(declared, type):
        return _declared(value, declared, path, caller)
    check_described(value)
    kind = EVENT if is_event_class(type(value)) else kind_of(value, path, caller)
    if kind is not None:
        return ArgumentSpec(path, kind=kind)
    if declared is STATIC_INTEGERS and type(value) is int:
        return ArgumentSpec(path, static=value)
    value = typed_number(value)
    if isinstance(value, Numeric):
        return ArgumentSpec(path, type(value).__name__)
    if type(value) in PYTHON_NUMBERS:
        return ArgumentSpec(path, PYTHON_NUMBERS[type(value)])
    if value is None:
        return ArgumentSpec(path)
    parts = argument_parts(value)
    if parts is None:
        raise _not_an_argument(value, path, caller)
    said = part_annotations(value, declared, parts.labels)
    of_parts = zip(parts.values, map(_of_number, parts.values, said), parts.labels, strict=True)
    shapes = tuple(shape_of(part, annotation, path + label, caller) for part, annotation, label in of_parts)
    return ArgumentSpec(path, parts=parts, shapes=shapes)


def _of_number(part: object, annotation: object) -> Any:
    """What is said of a part that is a Python number, or has parts; everything else knows its type itself."""
    speaks = annotation is Constexpr or type(part) in PYTHON_NUMBERS or not isinstance(annotation, type)
    return annotation if speaks else None


def _declared(value: object, declared: type[Numeric], path: str, caller: Span | None) -> ArgumentSpec:
    if isinstance(value, declared) or type(value) in PYTHON_NUMBERS or typed_number(value) is not value:
        return ArgumentSpec(path, declared.__name__)
    raise ArgumentKindError(
        f"the argument `{path}` has the wrong type",
        span=caller,
        found=f"{value!r}, of type {type(value).__name__}",
        expected=f"{declared.__name__} or a Python number",
        instead=f"{declared.__name__}(...) around the argument"
        if isinstance(value, Numeric | str)
        else f"a number, or a parameter without the annotation {declared.__name__}",
    )


def _unwanted(value: object, wanted: WantedArgument, path: str, caller: Span | None) -> ArgumentKindError:
    return ArgumentKindError(
        f"the argument `{path}` has the wrong type",
        span=caller,
        found=with_article(type(value).__name__),
        expected=wanted.expected,
        instead=wanted.instead.format(path),
    )


def _not_an_argument(value: object, path: str, caller: Span | None) -> ArgumentKindError:
    name, kind = path.partition(".")[0].partition("[")[0], type(value).__name__
    return ArgumentKindError(
        f"the argument `{path}` cannot be a run-time value",
        span=caller,
        found=with_article(kind),
        expected="a number, a tensor, or a tuple, list, NamedTuple or dataclass of these",
        instead=advice(value)
        or f"`{name}: Constexpr` if it is part of the program, or `register_jit_arg_adapter({kind})`",
    )


def adapted(value: object) -> Any:
    """What the registered adapter makes of a foreign object; other values as they are."""
    if not _ADAPTERS:
        return value
    adapter = next((_ADAPTERS[cls] for cls in type(value).__mro__ if cls in _ADAPTERS), None)
    return adapter(value) if adapter is not None else value


def typed_number(value: object) -> Any:
    """A NumPy-like scalar as a typed constant; other values as they are."""
    dtype = getattr(value, "dtype", None)
    if isinstance(value, Numeric) or dtype is None or getattr(value, "shape", None) != () or not hasattr(value, "item"):
        return value
    cls = _CLASSES_BY_DTYPE.get(str(dtype))
    return value if cls is None else cls.constant(value.item())


# Any: its class is asked for two protocols.
def argument_parts(value: Any) -> Parts | None:
    """The parts of an aggregate argument: by the argument protocol, or as for any aggregate."""
    if is_jit_argument(value):
        return _protocol_parts(value, lambda each: each.__jit_parts__(), value.__from_jit_parts__)
    if hasattr(type(value), "__c_pointers__") and not isinstance(value, tuple):
        # The protocol of public programs, which ends in arguments of ours, or in addresses. The parts of a NamedTuple
        # are its items, with or without it.
        parts = _protocol_parts(value, lambda each: each.__c_pointers__(), partial(_of_mlir_values, value))
        return parts._replace(values=c_values(value, parts.values))
    if type(value) is list:
        return list_parts(value)
    if type(value) is Keywords:
        labels = tuple(f"[{name!r}]" for name in value)
        return Parts(
            (Keywords, *value), labels, tuple(value.values()), lambda values: dict(zip(value, values, strict=True))
        )
    held = take_apart(value)
    return held if held is None or isinstance(value, tuple) else _with_other_attributes(held, value)


def _protocol_parts(
    value: object, parts_of: Callable[[Any], Sequence[Any]], rebuild: Callable[[Sequence[Any]], Any]
) -> Parts:
    """The parts that an object chooses; whatever else it holds is rebuilt from the object itself, so it is static."""
    values = tuple(parts_of(value))
    labels = tuple(f"[{i}]" for i in range(len(values)))
    return Parts((type(value), len(values), static_part(value, parts_of, values)), labels, values, rebuild)


def _of_mlir_values(value: object, values: Sequence[Any]) -> Any:
    """What the object makes of its values, after it has said their types: it may count its parts by them.

    A copy does, since what the object holds says for which calls the program is compiled.
    """
    like: Any = copy(value)  # which has the protocol of public programs
    types = getattr(like, "__get_mlir_types__", None)
    if types is not None:
        types()
    return like.__new_from_mlir_values__(values)


def _with_other_attributes(parts: Parts, value: object) -> Parts:
    """Attributes of a dataclass that are no fields are static: made in `__post_init__`, or assigned later."""
    held = attributes(value)
    if len(held) == len(parts.labels):
        return parts
    static = tuple((name, StaticKey(other)) for name, other in held.items() if f".{name}" not in parts.labels)
    return parts._replace(key=(*parts.key, *static))

"""Number types that annotations give the parts of an argument: of `tuple[tt.Int64, ...]`, of fields of a dataclass."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import GenericAlias
from typing import Any, ForwardRef, TypeGuard, get_origin
from weakref import WeakKeyDictionary

from triptych.metastage.values.binding_time import STATIC_INTEGERS, Constexpr, keeps_integers
from triptych.metastage.values.numeric import Numeric

_OF_CLASSES: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


def is_annotation_of_parts(annotation: object) -> TypeGuard[GenericAlias]:
    """Whether an annotation says what the items of a tuple or list are; `typing.Tuple[...]` is a class of its own."""
    return get_origin(annotation) in (tuple, list)


def part_annotations(value: object, annotation: object, labels: Sequence[str]) -> list[Any]:
    """For each part of a value, by its label, what is said of it: a number type, `Constexpr`, `STATIC_INTEGERS`, an
    annotation of its own parts, or None."""
    if isinstance(value, tuple | list) and not hasattr(type(value), "_fields"):
        if annotation is STATIC_INTEGERS:
            return [annotation] * len(labels)
        said = _of_items(annotation, len(labels)) if is_annotation_of_parts(annotation) else []
        found = said if len(said) == len(labels) else [None] * len(labels)
    else:
        fields = _of_class(type(value))
        found = [fields.get(label.removeprefix(".")) for label in labels]
    return [_meaning(one) for one in found]


def _meaning(annotation: object) -> Any:
    if annotation is Constexpr or getattr(annotation, "__origin__", None) is Constexpr:
        return Constexpr
    if keeps_integers(annotation):
        return STATIC_INTEGERS
    is_number_type = isinstance(annotation, type) and issubclass(annotation, Numeric)
    return annotation if is_number_type or is_annotation_of_parts(annotation) else None


def _of_items(annotation: GenericAlias, count: int) -> list[Any]:
    said = list(annotation.__args__)
    if annotation.__origin__ is list:
        return said * count
    return said[:1] * count if said[1:] == [...] else said


def _of_class(cls: type) -> dict[str, Any]:
    """By field, of the class and its bases. What cannot be looked up says nothing."""
    if cls not in _OF_CLASSES:
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            names = vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
            for field, annotation in vars(base).get("__annotations__", {}).items():
                found[field] = _resolved(annotation, names)
        _OF_CLASSES[cls] = found
    return _OF_CLASSES[cls]


def _resolved(annotation: object, names: dict[str, Any]) -> Any:
    try:
        while isinstance(annotation, str | ForwardRef):
            annotation = eval(annotation if isinstance(annotation, str) else annotation.__forward_arg__, dict(names))
    except Exception:  # a name of a function's own scope, or one for type checkers only
        return None
    return annotation

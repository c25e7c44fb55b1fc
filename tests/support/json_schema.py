"""The part of JSON Schema that our schemas use. A word that is not known here is an error and not overlooked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES = {"array": list, "object": dict, "string": str, "integer": int, "boolean": bool}
_SAID_ONLY = {"$schema", "title", "description"}


def mistakes(value: Any, schema: dict[str, Any], place: str = "$") -> Iterator[str]:
    """Where a value is not what its schema says."""
    for word, rule in schema.items():
        if word not in _SAID_ONLY:
            yield from (f"{place}: {found}" for found in _RULES[word](value, rule))
    if isinstance(value, dict):
        known = schema.get("properties", {})
        if schema.get("additionalProperties") is False:
            yield from (f"{place}: {name} is not known" for name in value.keys() - known.keys())
        for name in value.keys() & known.keys():
            yield from mistakes(value[name], known[name], f"{place}.{name}")
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from mistakes(item, schema.get("items", {}), f"{place}[{number}]")


def _if(wrong: bool, text: str) -> list[str]:
    return [text] if wrong else []


_RULES: dict[str, Any] = {
    "type": lambda value, rule: _if(not isinstance(value, _TYPES[rule]), f"no {rule}"),
    "required": lambda value, rule: [f"{name} is missing" for name in rule if name not in value],
    "pattern": lambda value, rule: _if(not re.search(rule, value), f"{value!r} is not {rule}"),
    "enum": lambda value, rule: _if(value not in rule, f"{value!r} is none of {rule}"),
    "const": lambda value, rule: _if(value != rule, f"{value!r} is not {rule!r}"),
    "minimum": lambda value, rule: _if(value < rule, f"{value} is less than {rule}"),
    "minLength": lambda value, rule: _if(len(value) < rule, "too short"),
    "minItems": lambda value, rule: _if(len(value) < rule, "too few"),
    "items": lambda value, rule: [],
    "properties": lambda value, rule: [],
    "additionalProperties": lambda value, rule: [],
}

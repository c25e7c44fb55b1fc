"""Assertions in MLIR: the attributes of a `cf.assert`, which say what it raises and why.

`msg` is the picture for people, which a GPU prints; the facts are what the CPU's exception is made of.
"""

from __future__ import annotations

from typing import Any

from triptych.diagnostics.check_facts import pack
from triptych.diagnostics.runtime_errors import CompiledCodeError
from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute
from triptych.support.render import render

ERROR_ATTRIBUTE = "triptych.error"
"""The class of the error, by name."""
FACTS_ATTRIBUTE = "triptych.facts"


def check_attributes(
    builder: Builder, error: type[CompiledCodeError], title: str, **facts: Any
) -> dict[str, Attribute]:
    """The attributes of a check that raises `error`; facts as the error takes them."""
    return {
        "msg": builder.string(render(title, error.code, **facts)),
        ERROR_ATTRIBUTE: builder.string(error.__name__),
        FACTS_ATTRIBUTE: builder.string(pack(title, **facts)),
    }

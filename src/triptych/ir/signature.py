"""Signature of the compiled function, carried on the module while passes run.

Passes see only the module, and MLIR integers have no sign; so the path and DSL type of every parameter and result
travel as one attribute from the start of the pass list to the pass that writes the entry point.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from triptych.ir import bindings
from triptych.ir.handles import Attribute, Module
from triptych.stages import Leaf, Memory, SymbolicExtent

_ATTRIBUTE = "triptych.signature"


@dataclass(frozen=True, slots=True)
class Signature:
    """The public function of a module: its symbol and its scalars."""

    name: str
    parameters: tuple[Leaf, ...]
    results: tuple[Leaf, ...]


def attach_signature(module: Module, signature: Signature) -> None:
    """Put the signature on the module."""
    ir = bindings.mlir()
    with module.context:
        parts = {
            "name": ir.StringAttr.get(signature.name),
            "parameters": _encode(signature.parameters),
            "results": _encode(signature.results),
        }
        module.operation.attributes[_ATTRIBUTE] = ir.DictAttr.get(parts)


def signature_of(module: Module) -> Signature:
    """The signature that the module carries."""
    ir = bindings.mlir()
    parts = ir.DictAttr(module.operation.attributes[_ATTRIBUTE])
    return Signature(ir.StringAttr(parts["name"]).value, _decode(parts["parameters"]), _decode(parts["results"]))


def detach_signature(module: Module) -> None:
    """Take the signature away: LLVM would not know it."""
    del module.operation.attributes[_ATTRIBUTE]


def leaves_text(leaves: Sequence[Leaf]) -> str:
    """Leaves as text, for what can hold nothing else."""
    return json.dumps([asdict(leaf) for leaf in leaves], ensure_ascii=False)


def read_leaves(text: str) -> tuple[Leaf, ...]:
    """The leaves that a text was made of."""
    return tuple(Leaf(fields["path"], fields["dtype"], _read_memory(fields["memory"])) for fields in json.loads(text))


def _read_memory(fields: dict[str, Any] | None) -> Memory | None:
    if fields is None:
        return None
    tuples = {name: tuple(fields[name]) for name in ("shape", "stride", "devices")}
    unknowns = tuple(SymbolicExtent(**unknown) for unknown in fields["unknowns"])
    return Memory(**{**fields, **tuples, "unknowns": unknowns})


def _encode(leaves: tuple[Leaf, ...]) -> Attribute:
    made: Attribute = bindings.mlir().StringAttr.get(leaves_text(leaves))
    return made


def _decode(attribute: Attribute) -> tuple[Leaf, ...]:
    return read_leaves(bindings.mlir().StringAttr(attribute).value)

"""The Python signature of the compiled function, carried on the module while passes run.

Passes see only the module, and MLIR integers have no sign; so the path and DSL type of every parameter and result
travel as one attribute from the start of the pass list to the pass that writes the entry point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triptych.ir import bindings
from triptych.stages import Leaf

_ATTRIBUTE = "triptych.signature"


@dataclass(frozen=True, slots=True)
class Signature:
    """The public function of a module: its symbol and its scalars."""

    name: str
    parameters: tuple[Leaf, ...]
    results: tuple[Leaf, ...]


def attach_signature(module: Any, signature: Signature) -> None:
    """Put the signature on the module."""
    ir = bindings.mlir()
    with module.context:
        parts = {
            "name": ir.StringAttr.get(signature.name),
            "parameters": _encode(signature.parameters),
            "results": _encode(signature.results),
        }
        module.operation.attributes[_ATTRIBUTE] = ir.DictAttr.get(parts)


def signature_of(module: Any) -> Signature:
    """The signature that the module carries."""
    ir = bindings.mlir()
    parts = ir.DictAttr(module.operation.attributes[_ATTRIBUTE])
    return Signature(ir.StringAttr(parts["name"]).value, _decode(parts["parameters"]), _decode(parts["results"]))


def detach_signature(module: Any) -> None:
    """Take the signature away: LLVM would not know it."""
    del module.operation.attributes[_ATTRIBUTE]


def _encode(leaves: tuple[Leaf, ...]) -> Any:
    ir = bindings.mlir()
    return ir.ArrayAttr.get([ir.StringAttr.get(text) for leaf in leaves for text in (leaf.path, leaf.dtype)])


def _decode(attribute: Any) -> tuple[Leaf, ...]:
    ir = bindings.mlir()
    texts = [ir.StringAttr(item).value for item in ir.ArrayAttr(attribute)]
    return tuple(Leaf(path, dtype) for path, dtype in zip(texts[::2], texts[1::2], strict=True))

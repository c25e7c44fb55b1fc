"""Enumeration attributes of MLIR. The bindings have no class for them: their text is read here only."""

from __future__ import annotations

from triptych.ir.handles import Attribute, Operation

_MAY_APPROXIMATE = frozenset({"afn", "fast"})


def word_of(attribute: Attribute) -> str:
    """The word of an enumeration: `x` of `#gpu<dim x>`, `or` of `#vector.kind<or>`."""
    return str(attribute).rstrip(">").replace("<", " ").rpartition(" ")[2]


def may_approximate(operation: Operation) -> bool:
    """Whether a program allows an approximation in the place of an operation of floats."""
    if "fastmath" not in operation.attributes:
        return False
    return not _MAY_APPROXIMATE.isdisjoint(word_of(operation.attributes["fastmath"]).split(","))

"""Contraction: whether a product and the sum that takes it may be one operation with one rounding, and who decides.

Meta-stage. It is a mark on every `+`, `-` and `*` of floats as it is traced, so all targets have one rule, and nothing
that a target adds by itself is touched. Machines then do as they like: with the mark either result is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from triptych.ir.builder import Builder

IN_KERNELS, IN_HOST_FUNCTIONS = True, False
"""Where nothing is said: kernels are fast as on every GPU, host functions compute what Python computes."""
_ALLOWED = "#arith.fastmath<contract>"


class Contraction:
    """What is in force at one point of a trace. What is chosen `everywhere` no function chooses otherwise."""

    def __init__(self, builder: Builder, everywhere: bool | None, host: bool | None) -> None:
        self._allowed = {"fastmath": builder.attribute(_ALLOWED)}
        self._everywhere = everywhere
        self.attributes: Mapping[str, Any] | None = None
        """Of the operations that are traced now."""
        self._choose(host, IN_HOST_FUNCTIONS)

    @contextmanager
    def kernel(self, chosen: bool | None) -> Iterator[None]:
        """A kernel does not follow the host function that launches it."""
        before = self.attributes
        self._choose(chosen, IN_KERNELS)
        try:
            yield
        finally:
            self.attributes = before

    @contextmanager
    def inlined(self, chosen: bool | None) -> Iterator[None]:
        """A function that chooses nothing follows its caller."""
        before = self.attributes
        self._choose(chosen, before is not None)
        try:
            yield
        finally:
            self.attributes = before

    @contextmanager
    def forbidden(self) -> Iterator[None]:
        """Sums whose every rounding is promised."""
        before, self.attributes = self.attributes, None
        try:
            yield
        finally:
            self.attributes = before

    def _choose(self, chosen: bool | None, otherwise: bool) -> None:
        choices = (self._everywhere, chosen, otherwise)
        self.attributes = self._allowed if next(choice for choice in choices if choice is not None) else None

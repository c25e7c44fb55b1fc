"""Copies that every GPU has, as objects: what moves, and what a program knows of caches and of other readers.

Hints for caches are for code generators of GPUs; orders hold on every target. On the CPU the three copies are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from triptych.layout import Layout
from triptych.metastage.scalars import Numeric


class MemoryOrder(Enum):
    """How an access is ordered with the other accesses of its thread, by the word of the instruction set."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SC = "sc"
    MMIO = "mmio"
    CONSTANT = "constant"
    VOLATILE = "volatile"


class MemoryScope(Enum):
    """Which threads see accesses in their order, by the word of the instruction set."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class LoadCacheMode(Enum):
    """Which caches keep what is loaded."""

    ALWAYS = "always"
    GLOBAL = "global"
    STREAMING = "streaming"
    LAST_USE = "last_use"
    NONE = "none"


class CacheEvictionPriority(Enum):
    """How soon a cache may forget what is accessed."""

    EVICT_NORMAL = "evict_normal"
    EVICT_FIRST = "evict_first"
    EVICT_LAST = "evict_last"
    EVICT_UNCHANGED = "evict_unchanged"
    NO_ALLOCATE = "no_allocate"


@dataclass(frozen=True, slots=True)
class CopyLayouts:
    """What an instruction moves: layouts (thread, value) -> number of an element, equal numbers being one element."""

    threads: Layout
    """The threads that execute it together."""
    source: Layout
    destination: Layout
    reference: Layout
    """The side whose threads and values a tiled copy deals out: that of the registers, where there are some."""


class CopyOperation:
    """A kind of copy instruction."""

    __slots__ = ()
    is_ordered: ClassVar[bool] = False
    """Whether a program may say how it is ordered with other accesses."""

    def layouts(self, dtype: type[Numeric], num_bits_per_copy: int) -> CopyLayouts:
        """What it moves of elements of a type: one thread moves the given bits, or one element."""
        values = Layout((1, max(1, num_bits_per_copy // dtype.width)), (0, 1))
        return CopyLayouts(Layout(1, 0), values, values, values)


@dataclass(frozen=True, slots=True)
class CopyUniversalOp(CopyOperation):
    """An assignment between any two memories."""

    is_ordered: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class CopyG2ROp(CopyOperation):
    """A load from global memory into registers."""

    is_ordered: ClassVar[bool] = True
    cache_mode: LoadCacheMode = LoadCacheMode.ALWAYS


@dataclass(frozen=True, slots=True)
class CopyR2GOp(CopyOperation):
    """A store from registers into global memory."""

    is_ordered: ClassVar[bool] = True

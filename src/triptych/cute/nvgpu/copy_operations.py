"""Copies that every GPU has, as objects: what moves, and what a program knows of caches and of other readers.

The hints are kept for code generators of GPUs. On the CPU the three copies are the same: plain loads and stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
class CopyUniversalOp:
    """An assignment between any two memories."""


@dataclass(frozen=True, slots=True)
class CopyG2ROp:
    """A load from global memory into registers."""


@dataclass(frozen=True, slots=True)
class CopyR2GOp:
    """A store from registers into global memory."""

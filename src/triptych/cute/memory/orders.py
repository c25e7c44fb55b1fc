"""What a program says of an access: its order among others, who sees that order, and what caches keep.

Hints for caches are for code generators of GPUs; orders hold on every target.
"""

from __future__ import annotations

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
    """The eviction priority of what is accessed."""

    EVICT_NORMAL = "evict_normal"
    EVICT_FIRST = "evict_first"
    EVICT_LAST = "evict_last"
    EVICT_UNCHANGED = "evict_unchanged"
    NO_ALLOCATE = "no_allocate"

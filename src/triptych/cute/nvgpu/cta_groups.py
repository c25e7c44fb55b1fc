"""CTA groups: whether one CTA issues an instruction or a pair of them."""

from __future__ import annotations

from enum import Enum


class CtaGroup(Enum):
    """How many CTAs issue an instruction together."""

    ONE = 1
    TWO = 2

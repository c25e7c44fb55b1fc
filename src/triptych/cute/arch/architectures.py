"""GPU architectures (`sm_100a`) as values that programs compare: by generation, then the general one first."""

from __future__ import annotations

import enum
from functools import total_ordering
from typing import Any

__all__ = ["Arch"]

_GENERAL = (80, 86, 87, 89, 90)
_OF_FAMILIES = (100, 101, 103, 110, 120, 121)
_VARIANTS = ("", "a", "f")
"""Code for all that come after, for one architecture, and for its family."""


@total_ordering
class _Architecture(enum.Enum):
    """An architecture of NVIDIA's GPUs."""

    @property
    def major(self) -> int:
        """10 of sm_103a."""
        return int(self.value[0]) // 10

    @property
    def minor(self) -> int:
        """3 of sm_103a."""
        return int(self.value[0]) % 10

    @property
    def suffix(self) -> str:
        """The letter after the number, if any."""
        return str(self.value[1])

    def is_family_of(self, arch: _Architecture) -> bool:
        """Whether code of this one may use what `sm_100f` has: its family begins there, and needs a letter."""
        if arch.suffix != "f":
            return self is arch
        return bool(self.suffix) and self.major == arch.major and self.minor >= arch.minor

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, _Architecture):
            return NotImplemented
        return self._place() < other._place()

    def _place(self) -> tuple[int, int]:
        return int(self.value[0]), _VARIANTS.index(self.suffix)

    def __str__(self) -> str:
        return self.name


_NAMED = [(number, "") for number in _GENERAL] + [(90, "a")]
_NAMED += [(number, suffix) for number in _OF_FAMILIES for suffix in _VARIANTS]
_NAMES = {f"sm_{number}{suffix}": (number, suffix) for number, suffix in _NAMED}
Arch: Any = _Architecture("Arch", _NAMES)  # type: ignore[call-arg]
Arch.__doc__ = _Architecture.__doc__

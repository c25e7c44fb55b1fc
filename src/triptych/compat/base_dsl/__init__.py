"""BaseDSL of public programs: the language that traces, which they ask for the architecture that code is made for."""

from __future__ import annotations

from typing import Any

from triptych.compat.modelled_gpu import modelled_gpu
from triptych.cute.arch.architectures import Arch
from triptych.cute.tracing.eager import eager
from triptych.support.config import config

__all__ = ["Arch", "BaseDSL"]


def __dir__() -> list[str]:
    return __all__


class BaseDSL:
    """What programs ask the language itself."""

    def __repr__(self) -> str:
        return f"BaseDSL({self.get_arch_enum()})"

    @classmethod
    @eager
    def _get_dsl(cls) -> BaseDSL:
        return cls()

    @eager
    def get_arch_enum(self) -> Any:
        """The architecture of the target, or of the modelled GPU where programs run on a CPU: the one with the
        instructions that later generations do not have, where there is one."""
        _, _, of_target = config().target.partition(":")
        if of_target.startswith("sm_"):
            return Arch[of_target]
        name = f"sm_{modelled_gpu().generation}"
        return Arch[f"{name}a" if f"{name}a" in Arch.__members__ else name]

"""BaseDSL of public programs: the language that traces, which they ask for the architecture that code is made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.compat.modelled_gpu import modelled_gpu
from triptych.cute.arch.architectures import Arch
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.eager import eager
from triptych.metastage.arguments.specs import register_jit_arg_adapter
from triptych.metastage.kernels.launches import flatten
from triptych.metastage.values.numeric import Numeric
from triptych.support.config import config

__all__ = [
    "Arch",
    "BaseDSL",
    "JitArgAdapterRegistry",
    "extract_mlir_attributes",
    "extract_mlir_values",
    "get_mlir_types",
    "new_from_mlir_values",
]


def __dir__() -> list[str]:
    return __all__


class JitArgAdapterRegistry:
    """Where adapters of arguments are: one for each type that is no argument by itself."""

    register_jit_arg_adapter = staticmethod(register_jit_arg_adapter)


def extract_mlir_values(obj: object) -> list[Any]:
    """The MLIR values that an object of the program is made of."""
    return flatten(obj, tracing())[0]


def new_from_mlir_values(obj: object, values: Sequence[Any]) -> Any:
    """An object like another one, made of other MLIR values."""
    trace = tracing()
    given = (value.ir_value() if isinstance(value, Numeric) else value for value in values)
    with trace.looking_back():  # an argument of a kernel is made of what the host has, a result of what branches had
        like = flatten(obj, trace)[1]
    return like.build(given, trace)


def get_mlir_types(obj: object) -> list[Any]:
    """The types of those values."""
    return [value.type for value in extract_mlir_values(obj)]


def extract_mlir_attributes(obj: object) -> list[dict[str, Any]]:
    """What parameters of a kernel need to be told beyond their types: nothing, for each value."""
    return [{} for _ in extract_mlir_values(obj)]


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

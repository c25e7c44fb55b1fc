"""Adapters of arguments under the name that public programs register them by."""

from __future__ import annotations

from triptych.metastage.arguments.specs import register_jit_arg_adapter

__all__ = ["JitArgAdapterRegistry"]


class JitArgAdapterRegistry:
    """Where adapters are: one for each type that is no argument by itself."""

    register_jit_arg_adapter = staticmethod(register_jit_arg_adapter)


def __dir__() -> list[str]:
    return __all__

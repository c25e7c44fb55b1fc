"""Programs written for the public CuTe DSL: `activate()` lets `import cutlass` and its modules give Triptych.

The modules here are what such programs import beside `cute`, under the names they import it by: `cutlass.torch` …
"""

from __future__ import annotations

from triptych.compat.activation import activate, activated, deactivate, imports_public_names, is_active

__all__ = ["activate", "activated", "deactivate", "imports_public_names", "is_active"]


def __dir__() -> list[str]:
    return __all__

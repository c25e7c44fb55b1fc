"""Errors of programs that import `cutlass`: a name that Triptych does not have, the other package."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class NotHereYetError(TriptychError, AttributeError):
    """A module of the public language has a name that Triptych does not have yet; the error tells the tier of the name.

    It is an `AttributeError`, so `hasattr` and `getattr` with a default work.
    """

    code = "TT0706"
    failing = """
from triptych import compat

with compat.activated():
    import cutlass.cute as cute
    cute.nvgpu.tcgen05.CtaGroup
"""
    fixed = """
from triptych import compat

with compat.activated():
    import cutlass.cute as cute
    print(hasattr(cute.nvgpu.tcgen05, "CtaGroup"))
"""


class NotImportableYetError(TriptychError, ImportError):
    """A program imports a public name, or a module, that Triptych does not have yet; the error tells its tier.

    It is an `ImportError`, so a program that can do without catches it.
    """

    code = "TT0707"
    failing = """
from triptych import compat

with compat.activated():
    from cutlass.cute.nvgpu.tcgen05 import CtaGroup
"""
    fixed = """
from triptych import compat

with compat.activated():
    try:
        from cutlass.cute.nvgpu.tcgen05 import CtaGroup
    except ImportError:
        CtaGroup = None
"""


class OtherPackageError(TriptychError, RuntimeError):
    """The package `cutlass` itself is imported already, and one process cannot have two meanings of one name."""

    code = "TT0710"
    failing = """
import sys, types
from triptych import compat

sys.modules["cutlass"] = types.ModuleType("cutlass")
try:
    compat.activate()
finally:
    del sys.modules["cutlass"]
"""
    fixed = """
from triptych import compat

with compat.activated():
    import cutlass
"""

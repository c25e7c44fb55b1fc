"""Errors of exported functions that are loaded into a Python process again."""

from __future__ import annotations

from triptych.support.errors import TriptychError

_EXPORTED = """
import tempfile
from triptych import cute

@tt.jit
def quotient(x: tt.Int32, y: tt.Int32):
    return x // y

folder = tempfile.mkdtemp()
tt.compile(quotient, 4, 2, target="cpu").export_to_c(folder, "quotient")
module = cute.runtime.load_module(f"{folder}/quotient.o")
"""


class ExportedModuleError(TriptychError, ValueError):
    """A file is no module that was exported, or it was by a version whose interface is another one."""

    code = "TT0522"
    failing = """
from triptych import cute

cute.runtime.load_module("no_such_file.o")
"""
    fixed = _EXPORTED


class MissingFunctionError(TriptychError, AttributeError):
    """A module that was exported has no function of that name."""

    code = "TT0523"
    failing = f"{_EXPORTED}\nmodule.remainder(7, 2)\n"
    fixed = f"{_EXPORTED}\nmodule.quotient(7, 2)\n"


class ExportedCallError(TriptychError, RuntimeError):
    """An exported function has failed while it ran: it knows a text, but not the exception that Python would raise."""

    code = "TT0650"
    failing = f"{_EXPORTED}\nmodule.quotient(7, 0)\n"
    fixed = f"{_EXPORTED}\nmodule.quotient(7, 2)\n"

"""Export ABI codes: the numbers between exported objects and the programs that call them."""

from __future__ import annotations

ABI_VERSION = 1
"""Of what header, object and loader agree on: structures, codes and the functions of a module."""
OK, BAD_ARGUMENT, FAILED, ABI_MISMATCH, NOT_LOADED, NO_DEVICE = range(6)
CODES = {
    "TRIPTYCH_OK": (OK, "done"),
    "TRIPTYCH_BAD_ARGUMENT": (BAD_ARGUMENT, "an argument is not what the function was compiled for; nothing has run"),
    "TRIPTYCH_FAILED": (FAILED, "a check of the program failed while it ran"),
    "TRIPTYCH_ABI_MISMATCH": (ABI_MISMATCH, "header or loader and object are not of the same export or version"),
    "TRIPTYCH_NOT_LOADED": (NOT_LOADED, "the module was not loaded, or is unloaded already"),
    "TRIPTYCH_NO_DEVICE": (NO_DEVICE, "the machine cannot run the code: no driver, no GPU, or another CPU or GPU"),
}
"""What each result of a wrapper means."""
UNCHECKED = 1
"""A flag of a call: layouts are taken as they are given."""


def share_symbol(name: str) -> str:
    """Of an exported function: takes keys of threads that objects of one process have in common."""
    return f"{name}_triptych_share"

"""PyTorch import, or an error that says how to install it."""

from __future__ import annotations

from triptych.ir.errors import MissingPackageError

try:
    import torch as torch
except ModuleNotFoundError as error:
    if error.name != "torch":  # it is here, and something that it needs is not
        raise
    missing = MissingPackageError(
        "`triptych.torch` needs PyTorch, which is not installed",
        found="no importable module torch",
        instead="pip install 'triptych[torch]'",
    )
    missing.name = "torch"
    raise missing from None

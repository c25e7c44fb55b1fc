"""Errors of operations that read memory while threads go on: bulk stores, and products of warpgroups."""

from __future__ import annotations

from triptych.diagnostics.runtime_errors import CompiledCodeError


class BackgroundReadError(CompiledCodeError, RuntimeError):
    """A bulk store or a product reads memory that is not fenced, or is overwritten meanwhile (checker `races`)."""

    code = "TT0634"

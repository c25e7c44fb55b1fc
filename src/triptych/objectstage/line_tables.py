"""Passes after a target's own that give generated code the lines of Python it comes from."""

from __future__ import annotations

from triptych.stages import PassSpec

LINE_TABLES = (
    PassSpec(
        "ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly}",
        "A line belongs to a function; more debug information would switch optimisations off.",
    ),
)

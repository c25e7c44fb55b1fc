"""Compilation listeners: log lines, printed IR and dumped files, as the settings ask."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from triptych.stages import Loaded, Rewritten
from triptych.support.config import config

LOGGER = logging.getLogger("triptych")
LOGGER.addHandler(logging.NullHandler())


COMPILE_LISTENERS: list[Callable[[Loaded], Loaded]] = []
"""What sees every compilation before its first call, and may put another entry point in the place of its own."""


def observe(rewritten: Rewritten | None, loaded: Loaded, seconds: float) -> Loaded:
    """Report one finished compilation; what is called is what the watchers make of it."""
    settings = config()
    lowered = loaded.compiled.lowered
    traced = lowered.traced
    LOGGER.info("compiled %s (%s) in %.1f ms", traced.name, traced.span, seconds * 1e3)
    if settings.print_ir:
        print(traced.module, file=sys.stderr)
    if settings.keep:
        texts = {"mlir": str(traced.module), "lowered.mlir": lowered.mlir, "ll": lowered.llvm}
        texts |= {"s": loaded.compiled.assembly} | ({"py": rewritten.text} if rewritten is not None else {})
        folder = Path(settings.keep)
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, text in texts.items():
            (folder / f"{traced.name}.{suffix}").write_text(text)
    for watcher in COMPILE_LISTENERS:
        loaded = watcher(loaded)
    return loaded


def start_log() -> None:
    """Write the log to stderr if the settings say so."""
    if config().log:
        _install_handler(config().log)


@cache
def _install_handler(levels: str) -> None:
    """`info,compile=debug`: a level for everything, then levels for parts."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    LOGGER.addHandler(handler)
    for part in levels.split(","):
        name, _, level = part.rpartition("=")
        logging.getLogger(f"triptych.{name}" if name else "triptych").setLevel(level.upper())

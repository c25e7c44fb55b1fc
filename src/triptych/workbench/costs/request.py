"""What `triptych check --costs` is asked for. It is read with the command line, so nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CostRequest:
    """What to count and how, as the command line says it."""

    place: str
    args: str = ""
    arguments: Sequence[str] = ()
    cutlass: bool = False
    json: bool = False
    arch: str = "sm_80"
    blocks: str = "5"
    case: str = ""
    svg: str = ""

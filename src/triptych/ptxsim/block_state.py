"""A running block as instructions see it: what they read and change. The block itself, in `machine`, knows them all."""

from __future__ import annotations

from typing import Any, Protocol

from triptych.ptxsim.operands import Registers

Dims = tuple[int, int, int]


class BlockState(Protocol):
    """The threads of a block, their registers and memories, and what is under way for them."""

    threads: int
    numbers: Any
    """Of the threads: 0, 1, 2, ..."""
    index: Dims
    rank: int
    """Among the blocks of its cluster."""
    alive: Any
    registers: Registers
    rooms: dict[str, Any]
    gpu: Any
    cluster: Any
    products: Any
    stores: Any
    copies: list[Any]
    copy_groups: Any
    call_parameters: dict[str, Any]
    waiting: dict[int, Any]
    refused: Any
    meetings: Any
    waits_over: Any

    def start(self, index: Dims) -> None: ...
    def turn(self, number: int) -> bool: ...
    def refuse(self) -> bool: ...
    def where(self) -> list[str]: ...

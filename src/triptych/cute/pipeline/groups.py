"""Meta-stage, pipelines: who takes part in one."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from triptych.cute.tracing.device import device_model
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place


class Agent(enum.Enum):
    """Who takes part: some threads, whole warps, all threads of the block, or of the cluster."""

    Thread = enum.auto()
    Warp = enum.auto()
    ThreadBlock = enum.auto()
    ThreadBlockCluster = enum.auto()


@dataclass(frozen=True, slots=True)
class CooperativeGroup:
    """The producers or the consumers of a pipeline: what they are, and how many. `alignment` divides their number."""

    agent: Agent
    size: int = 1
    alignment: int | None = None

    def __post_init__(self) -> None:
        if self.alignment and self.size % self.alignment:
            raise OperandTypeError(
                "a group whose number is not aligned as it says",
                span=place(),
                found=f"{self.size} of {self.agent.name}",
                expected=f"a multiple of alignment={self.alignment}",
            )

    @property
    def threads(self) -> int:
        """How many threads it has."""
        return self.size * (device_model().lanes if self.agent is Agent.Warp else 1)

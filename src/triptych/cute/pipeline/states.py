"""Pipeline states: where a thread is in a circular buffer, as numbers that change while the kernel runs.

Each number is a variable of the thread in memory, so that `state.advance()` in a run-time loop changes it as often as
the loop runs; compilers turn such variables into registers.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Protocol, Self

from triptych.cute.tensors.factories import make_rmem_tensor
from triptych.cute.tensors.value_functions import where
from triptych.cute.tracing.device import device_function
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Int32


class RunTimeInt:
    """An Int32 of each thread that methods of an object may change anywhere."""

    __slots__ = ("_memory",)
    __runtime_mutable__ = __runtime_state__ = True

    def __init__(self, value: object) -> None:
        self._memory = make_rmem_tensor(1, Int32)
        self.set(value)

    def get(self) -> Any:
        return self._memory[0]

    def set(self, value: object) -> None:
        self._memory[0] = value


class Place(Protocol):
    """A stage in the ring and the parity of the pass around it: of a state, or of a handle."""

    @property
    def index(self) -> Any: ...
    @property
    def phase(self) -> Any: ...


class PipelineUserType(enum.Enum):
    """What a thread does with the stages of a pipeline."""

    Producer = enum.auto()
    Consumer = enum.auto()
    ProducerConsumer = enum.auto()


class PipelineState:
    """A place in a circular buffer of `stages` stages.

    `index` is the stage, `count` how many stages have been passed, `phase` a bit that changes with every round. A state
    of 0 stages is a place that goes nowhere.
    """

    __runtime_mutable__ = __runtime_state__ = True

    def __init__(self, stages: object, count: object, index: object, phase: object) -> None:
        if stages != 0:
            _require_ring(stages)
        self.stages: Any = stages
        self._places = RunTimeInt(count), RunTimeInt(index), RunTimeInt(phase)

    def __repr__(self) -> str:
        return f"PipelineState({self.stages} stages)"

    @property
    def count(self) -> Any:
        """How many stages have been passed."""
        return self._count

    @property
    def index(self) -> Any:
        """The stage in the ring."""
        return self._index

    @property
    def phase(self) -> Any:
        """Which pass around the ring, modulo two."""
        return self._phase

    @device_function
    def clone(self) -> Self:
        """Another state at the same place, which goes its own way."""
        return type(self)(self.stages, self.count, self.index, self.phase)

    @device_function
    def reset_count(self) -> None:
        """Count from zero, at the same stage."""
        self._count = 0

    @device_function
    def advance(self) -> None:
        """Go to the next stage."""
        _require_ring(self.stages)
        following = self.index + 1
        self._move(1, where(following == self.stages, 0, following), following == self.stages)

    @device_function
    def reverse(self) -> None:
        """Go back to the stage before."""
        _require_ring(self.stages)
        index = self.index
        self._move(-1, where(index == 0, self.stages - 1, index - 1), index == 0)

    def _move(self, step: int, index: Int32, wraps: Boolean) -> None:
        self._count += step
        self._index = index
        self._phase ^= wraps.to(Int32)

    # Programs that go several stages at once change these themselves.
    @property
    def _count(self) -> Any:
        return self._places[0].get()

    @_count.setter
    def _count(self, value: object) -> None:
        self._places[0].set(value)

    @property
    def _index(self) -> Any:
        return self._places[1].get()

    @_index.setter
    def _index(self, value: object) -> None:
        self._places[1].set(value)

    @property
    def _phase(self) -> Any:
        return self._places[2].get()

    @_phase.setter
    def _phase(self, value: object) -> None:
        self._places[2].set(value)

    def __extract_mlir_values__(self) -> list[Any]:
        return [self.count, self.index, self.phase]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        return type(self)(self.stages, *values)

    def __str__(self) -> str:
        return f"the state of a pipeline of {self.stages} stages"


def _require_ring(stages: object) -> None:
    if not isinstance(stages, int) or stages < 1:
        raise OperandTypeError(
            "the number of stages is part of the program",
            span=place(),
            found=str(stages),
            expected="a positive number that is known while tracing",
        )


def make_pipeline_state(type: PipelineUserType, stages: int) -> PipelineState:
    """The state at the first stage. To a producer the buffer is empty, which its phase bit of 1 says."""
    _require_ring(stages)
    return PipelineState(stages, 0, 0, 0 if type is PipelineUserType.Consumer else 1)

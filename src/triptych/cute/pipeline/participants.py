"""Producer and consumer participants of a pipeline, with their state and handles of the stages they hold.

A handle is the place of one stage, as numbers that do not change: loops, branches and functions hand it on.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Protocol, Self

from triptych.cute.memory.pointers import Pointer
from triptych.cute.pipeline.states import PipelineState, Place
from triptych.cute.tracing.device import device_function, device_model
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Int32
from triptych.support.dataclass import dataclass


class Pipeline(Protocol):
    """What participants ask of their pipeline."""

    @property
    def num_stages(self) -> int: ...
    def producer_acquire(self, state: Place, try_acquire_token: object = None) -> None: ...
    def producer_try_acquire(self, state: Place) -> Boolean: ...
    def producer_commit(self, state: Place) -> None: ...
    def producer_get_barrier(self, state: Place) -> Pointer: ...
    def producer_tail(self, state: Any) -> None: ...
    def consumer_wait(self, state: Place, try_wait_token: object = None) -> None: ...
    def consumer_try_wait(self, state: Place) -> Boolean: ...
    def consumer_release(self, state: Place) -> None: ...


class ImmutableResourceHandle:
    """A stage that somebody holds."""

    __slots__ = ("_count", "_index", "_phase", "_pipeline")

    def __init__(self, pipeline: Pipeline, count: object, index: object, phase: object) -> None:
        self._pipeline = pipeline
        self._count, self._index, self._phase = Int32(count), Int32(index), Int32(phase)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._index})"

    @property
    def index(self) -> Any:
        """The stage in the ring."""
        return self._index

    @property
    def count(self) -> Any:
        """How many stages were passed before it."""
        return self._count

    @property
    def phase(self) -> Any:
        """Which pass around the ring, modulo two."""
        return self._phase

    @device_function
    def clone(self) -> Self:
        """The same stage."""
        return type(self)(self._pipeline, self._count, self._index, self._phase)

    def __extract_mlir_values__(self) -> list[Any]:
        return [self._count, self._index, self._phase]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        return type(self)(self._pipeline, *values)


class ProducerHandle(ImmutableResourceHandle):
    """A stage that is being filled."""

    __slots__ = ()

    @property
    def barrier(self) -> Pointer:
        """The barrier that says that the stage is full: copies complete their bytes on it."""
        return self._pipeline.producer_get_barrier(self)

    @device_function
    def commit(self) -> None:
        """The stage is filled."""
        self._pipeline.producer_commit(self)


class ConsumerHandle(ImmutableResourceHandle):
    """A stage that is being read."""

    __slots__ = ()

    @device_function
    def release(self) -> None:
        """The stage is not read any more."""
        self._pipeline.consumer_release(self)


class _Participant:
    """A place in the ring."""

    __runtime_mutable__ = __runtime_state__ = True

    def __init__(self, pipeline: Pipeline, state: PipelineState) -> None:
        self._pipeline = pipeline
        self._state = state

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._pipeline})"

    @device_function
    def advance(self) -> None:
        """Go to the next stage."""
        self._state.advance()

    @device_function
    def reset(self) -> None:
        """Count from zero, at the same stage."""
        self._state.reset_count()

    @device_function
    def clone(self) -> Self:
        """Another one at the same place, which goes its own way."""
        return type(self)(self._pipeline, self._state.clone())

    def _taken(self) -> tuple[Any, Any, Any]:
        state = self._state
        return state.count, state.index, state.phase

    def __extract_mlir_values__(self) -> list[Any]:
        return self._state.__extract_mlir_values__()

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        return type(self)(self._pipeline, self._state.__new_from_mlir_values__(values))


class PipelineProducer(_Participant):
    """Takes empty stages, one after the other, fills them and says so."""

    ImmutableResourceHandle = ProducerHandle

    @property
    def __state(self) -> PipelineState:
        """Where it is: public programs that expect other bytes than the pipeline's read it under its mangled name."""
        return self._state

    @device_function
    def acquire(self, try_acquire_token: object = None) -> ProducerHandle:
        """Wait until this stage is empty."""
        self._pipeline.producer_acquire(self._state, try_acquire_token)
        return ProducerHandle(self._pipeline, *self._taken())

    @device_function
    def acquire_and_advance(self, try_acquire_token: object = None) -> ProducerHandle:
        """Wait until this stage is empty, and go to the next one."""
        handle = self.acquire(try_acquire_token)
        self.advance()
        return handle

    @device_function
    def try_acquire(self) -> Boolean:
        """Whether this stage is empty."""
        return self._pipeline.producer_try_acquire(self._state)

    @device_function
    def commit(self, handle: ProducerHandle | None = None) -> None:
        """A stage is filled: that of the handle, or the one where this participant is."""
        self._pipeline.producer_commit(self._state if handle is None else handle)

    @device_function
    def tail(self) -> None:
        """Wait until all stages are empty, before the block ends."""
        self._pipeline.producer_tail(self._state)


class PipelineConsumer(_Participant):
    """Takes full stages, one after the other, reads them and says so."""

    ImmutableResourceHandle = ConsumerHandle

    @device_function
    def wait(self, try_wait_token: object = None) -> ConsumerHandle:
        """Wait until this stage is full."""
        self._pipeline.consumer_wait(self._state, try_wait_token)
        return ConsumerHandle(self._pipeline, *self._taken())

    @device_function
    def wait_and_advance(self, try_wait_token: object = None) -> ConsumerHandle:
        """Wait until this stage is full, and go to the next one."""
        handle = self.wait(try_wait_token)
        self.advance()
        return handle

    @device_function
    def try_wait(self) -> Boolean:
        """Whether this stage is full."""
        return self._pipeline.consumer_try_wait(self._state)

    @device_function
    def release(self, handle: ConsumerHandle | None = None) -> None:
        """A stage is not read any more: that of the handle, or the one where this participant is."""
        self._pipeline.consumer_release(self._state if handle is None else handle)


class Agent(enum.Enum):
    """Who takes part: some threads, whole warps, all threads of the block, or of the cluster."""

    Thread = enum.auto()
    Warp = enum.auto()
    ThreadBlock = enum.auto()
    ThreadBlockCluster = enum.auto()


class PipelineOp(enum.Enum):
    """By what somebody arrives at the barrier of a stage: threads, copies in the background, products."""

    AsyncThread = enum.auto()
    TCGen05Mma = enum.auto()
    TmaLoad = enum.auto()
    ClcLoad = enum.auto()
    TmaStore = enum.auto()
    Composite = enum.auto()
    AsyncLoad = enum.auto()


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

"""Operation definitions: `OpDef`, the one declaration of an operation of kernels, and the dialects made of them.

Input: what a dialect says of an operation: its name, operands, results and attributes, what it does to other threads
(`Traits`), and what reports call it. Output: an object that is the operation's name and carries the rest. Builders take
it for the name; targets and analyses key their rules by it, or ask its fields, so that a new operation need not be
named where a field tells enough. An operation without traits cannot be defined: to take it for one that does nothing
to others would be wrong code.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, StrEnum, auto

from triptych.ir.dialect import AttributeSpec, Dialect, OperationSpec
from triptych.ir.handles import Context, Operation
from triptych.support.dataclass import dataclass


class Scope(StrEnum):
    """Whom an operation concerns beside the thread that executes it."""

    THREAD = "the thread alone"
    WARP = "the lanes of its warp"
    BLOCK = "the threads of its block"
    CLUSTER = "the threads of its cluster of blocks"
    GRID = "everybody"


class Result(StrEnum):
    """How alike the results of the lanes of a warp are."""

    OF_OPERANDS = "as alike as the operands"
    UNIFORM = "one for the warp, whatever the operands are"
    OF_THE_MOMENT = "one for the lanes of a warp that ask the same at one moment"
    DIVERGENT = "a lane's own, whatever the operands are"


@dataclass(frozen=True, slots=True)
class Traits:
    """What an operation does to other threads."""

    scope: Scope = Scope.THREAD
    collective: bool = False
    """Threads of the scope execute it together, or count each other there."""
    suspends: bool = False
    """A thread may wait there for others."""
    reads: bool = False
    """Memory that others may write."""
    writes: bool = False
    """What others read, or it decides when they do."""
    result: Result = Result.OF_OPERANDS
    allocates: bool = False
    """Memory that each thread has for itself."""
    stops: bool = False
    """It may end the kernel."""
    encloses: bool = False
    """Control flow: it does what is inside it."""
    repeatable: bool = True
    """As far as the above allows, it may run again, or not at all."""

    def is_barrier(self) -> bool:
        """Whether threads of a block wait for each other there, or are counted."""
        return self.collective and self.scope is Scope.BLOCK

    def awaits(self) -> bool:
        """Whether a thread may wait there for what others of its block or cluster do, without being counted."""
        return self.suspends and not self.collective and self.scope in (Scope.BLOCK, Scope.CLUSTER)

    def is_of_a_warp(self) -> bool:
        """Whether the lanes of a warp do it together."""
        return self.collective and self.scope is Scope.WARP

    def exchanges(self) -> bool:
        """Whether the lanes of a warp learn something of each other, and no more: it orders no memory."""
        return self.is_of_a_warp() and self.result is not Result.OF_OPERANDS

    def is_of_each_thread(self) -> bool:
        """Whether nobody can do it for other threads, even where all have the same operands."""
        return self.collective or self.writes or self.allocates or self.stops

    def is_pure(self) -> bool:
        """Whether an operation only computes: it may run once for many threads, again, or not at all."""
        return self.repeatable and not (self.is_of_each_thread() or self.suspends or self.reads or self.encloses)


COMPUTES = Traits()
IDENTITY = Traits(result=Result.DIVERGENT)
CONVERGENT = Traits(Scope.WARP, collective=True, suspends=True, result=Result.DIVERGENT)
CONVERGENT_UNIFORM = Traits(Scope.WARP, collective=True, suspends=True, result=Result.UNIFORM)
BLOCK_BARRIER = Traits(Scope.BLOCK, collective=True, suspends=True)
COUNTED = Traits(Scope.CLUSTER, writes=True)
AWAITS = Traits(Scope.CLUSTER, suspends=True, reads=True, writes=True)
ASYNC_TRANSFER = Traits(Scope.CLUSTER, reads=True, writes=True)
LOADS = Traits(Scope.GRID, reads=True)
STORES = Traits(Scope.GRID, writes=True)
UPDATES = Traits(Scope.GRID, reads=True, writes=True, result=Result.DIVERGENT)
ANYTHING = Traits(Scope.GRID, reads=True, writes=True, result=Result.DIVERGENT, repeatable=False)
OF_THE_MOMENT = Traits(result=Result.UNIFORM, repeatable=False)
ONCE = Traits(repeatable=False)
CONTROL_FLOW = Traits(encloses=True)
INSTRUMENTATION = Traits(Scope.BLOCK, writes=True, repeatable=False)


@dataclass(frozen=True, slots=True)
class Accumulation:
    """Of a matrix product whose operands are arrays: where the sums are that it adds to."""

    operand: int
    places: str
    """The attribute that says where its registers are in the array."""
    unless: int | None = None
    """The operand (i1) without which it begins with zero; None if it always adds."""


class WgmmaStep(Enum):
    """What an operation does with WGMMAs, which run on by themselves in groups."""

    BEGIN = auto()
    FENCE = auto()
    COMMIT = auto()
    WAIT = auto()


class KernelDialect:
    """The operations of kernels whose names begin alike, in the order of their definitions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operations: list[OpDef] = []

    def load(self, context: Context) -> None:
        """Make the operations known to `context`; once is enough."""
        Dialect(self.name, tuple(each.spec for each in self.operations)).load(context)


class OpDef(str):
    """An operation: its full name, with all that is known of it.

    Operands and results are texts as in `OperationSpec`. It is a string, so that tables keyed by it are found by the
    name of an operation, and so that it costs no more than the name where one is built.
    """

    __slots__ = (
        *("accumulates", "leaves_block", "members", "of_mbarrier", "read_only"),
        *("says", "spec", "traits", "wgmma"),
    )

    spec: OperationSpec
    """Its operands, results and attributes, which MLIR verifies."""
    traits: Traits
    says: str
    """What reports say that a thread does there, for operations that go on by themselves or order such ones: whoever
    emits them reports them to the sanitizer. Empty for all others."""
    members: int | None
    """The operand that names the lanes of the warp that take part."""
    of_mbarrier: bool
    """Its first operand is an mbarrier, which it updates or looks at."""
    read_only: tuple[int, ...]
    """The operands that are addresses of memory which it only reads."""
    leaves_block: Callable[[Operation], bool] | None
    """Whether it reaches other blocks of the cluster; None if it never does."""
    accumulates: Accumulation | None
    """Of a matrix product."""
    wgmma: WgmmaStep | None
    """Of WGMMAs, and of what orders them."""

    def __new__(
        cls,
        dialect: KernelDialect,
        name: str,
        *,
        traits: Traits,
        operands: tuple[str, ...] = (),
        results: tuple[str, ...] = (),
        attributes: tuple[str | AttributeSpec, ...] = (),
        pure: bool = False,
        says: str = "",
        members: int | None = None,
        of_mbarrier: bool = False,
        read_only: tuple[int, ...] = (),
        leaves_block: Callable[[Operation], bool] | None = None,
        accumulates: Accumulation | None = None,
        wgmma: WgmmaStep | None = None,
    ) -> OpDef:
        """Define an operation of a dialect."""
        made = super().__new__(cls, f"{dialect.name}.{name}")
        named = tuple(AttributeSpec(each) if isinstance(each, str) else each for each in attributes)
        made.spec = OperationSpec(name, operands, results, pure, named)
        made.traits, made.says, made.members = traits, says, members
        made.of_mbarrier, made.read_only, made.leaves_block = of_mbarrier, read_only, leaves_block
        made.accumulates, made.wgmma = accumulates, wgmma
        dialect.operations.append(made)
        return made


def one_of(name: str, *values: str) -> AttributeSpec:
    """An attribute that is one of these words."""
    return AttributeSpec(name, tuple(f'"{value}"' for value in values))

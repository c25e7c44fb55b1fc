"""Values and targets of a kernel's statements, and where a statement stands."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.differential.choices import Choices
from tests.differential.kernels.expressions import Expressions
from tests.differential.kernels.launch import Launch
from tests.differential.kernels.scope import NUMBERS, Kind, Level, Memory, Names, Scope, Variable
from tests.differential.lines import Lines


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands."""

    level: Level = Level.BLOCK
    """How far threads that are here agree on being here."""
    nesting: int = 0
    loops: int = 0
    loop: Level | None = None
    """The level of the innermost loop's body: who leaves it early must be all who agree on being in it."""
    settles: bool = False
    """Whether shared memory must be readable by all when the innermost loop is left early."""
    meets: bool = True
    """Whether barriers may be written here; if not, shared memory does not change hands."""
    is_apart: bool = False
    """Whether each thread is alone in the outermost construct around: only there may some return and others go on."""
    is_whole: bool = True
    """Whether no thread of a warp that is here can have returned before: lanes that are gone do not answer."""

    @property
    def has_warp(self) -> bool:
        """Whether the lanes of a warp can meet here."""
        return self.level <= Level.WARP and self.is_whole

    def branch(self, level: Level, meets: bool) -> Place:
        """The place of a statement in a branch here."""
        is_apart = self.is_apart or (self.nesting == 0 and level is Level.THREAD)
        level = max(self.level, level)
        return replace(self, level=level, nesting=self.nesting + 1, meets=meets, is_apart=is_apart)

    def body(self, level: Level, meets: bool) -> Place:
        """The place of a statement in a loop body here."""
        inside = self.branch(level, meets)
        return replace(inside, loops=self.loops + 1, loop=inside.level, settles=meets)


class Writer(Lines):
    """Writes lines; values and targets come from here."""

    def __init__(
        self,
        choices: Choices,
        names: Names,
        launch: Launch,
        memory: Memory,
        expressions: Expressions,
        kinds: list[Kind],
    ) -> None:
        super().__init__()
        self._choices = choices
        self._names = names
        self._launch = launch
        self._memory = memory
        self._expressions = expressions
        self._kinds = kinds

    def _kind(self) -> Kind:
        return self._choices.choice((Kind.INT32, *self._kinds))

    def _level(self, lowest: Level) -> Level:
        """How far threads agree on a new value: at most as far as they agree on being here."""
        return max(lowest, self._choices.choice((Level.THREAD, Level.THREAD, Level.WARP, Level.BLOCK)))

    def _value(self, kind: Kind, scope: Scope, level: Level) -> str:
        return self._expressions.fitted(kind, scope, self._choices.integer(0, 3), level)

    def _target(self, kind: Kind, scope: Scope, lowest: Level) -> tuple[str, Variable]:
        """A name to assign; the caller marks it as assigned once the value is written."""
        known = scope.assignable(kind, lowest)
        if known and self._choices.boolean(0.6):
            name = self._choices.choice(known)
            return name, scope.variables[name]
        variable = Variable(kind, self._level(lowest))
        return self._names.fresh(variable), variable

    def _number(self) -> Kind:
        """A type other than Boolean."""
        return self._choice_of([kind for kind in self._kinds if kind in NUMBERS] or [Kind.INT32])

    def _choice_of(self, kinds: list[Kind]) -> Kind:
        return self._choices.choice(kinds)

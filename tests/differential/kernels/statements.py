"""Random statements of a kernel, written line by line with scope and shared memory kept in step.

Loops end by construction: ranges are short, and a `while` burns a counter that nothing else assigns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.differential.choices import Choices
from tests.differential.kernels.expressions import Expressions
from tests.differential.kernels.launch import Launch
from tests.differential.kernels.meetings import Meetings
from tests.differential.kernels.scope import Kind, Level, Memory, Names, Scope, Variable
from tests.differential.kernels.writer import Place

Form = Callable[[Scope, Place], bool]

MOST_LOOPS = 2


class Statements(Meetings):
    """Writes the body of a kernel, or of a function that it calls; a writing method returns True when no path goes on.

    `result` is the type that a called function returns; a kernel returns nothing.
    """

    def __init__(
        self,
        choices: Choices,
        names: Names,
        launch: Launch,
        memory: Memory,
        expressions: Expressions,
        kinds: list[Kind],
        size: int,
        result: Kind | None = None,
    ) -> None:
        super().__init__(choices, names, launch, memory, expressions, kinds)
        self._remaining = self._size = size
        self._result = result
        self._unrolled = 1
        self._returned_apart = False
        assigning: tuple[Form, ...] = (self._assign, self._augment, self._assign)
        storing: tuple[Form, ...] = (self._store_output, self._store_register, self._store_shared, self._count)
        meeting: tuple[Form, ...] = (
            *(self._barrier, self._shuffle, self._vote, self._reduce),
            *(self._barrier, self._among_some, self._exchange_in_warp),
        )
        blocks = (self._if, self._for_range, self._while, self._for_static, self._if, self._for_range)
        self._simple = (*assigning, *storing, *meeting) if result is None else assigning
        self._any = (*self._simple, self._if, *blocks, *blocks)

    def start(self, scope: Scope) -> None:
        """Give a kernel variables to work with: for each type one that threads agree on and one that they do not."""
        for kind in dict.fromkeys(self._kinds):
            for level in (Level.THREAD, Level.BLOCK):
                name = self._names.fresh(variable := Variable(kind, level))
                self._write(f"{name} = {self._value(kind, scope, level)}")
                scope.variables[name] = variable

    def block(self, scope: Scope) -> bool:
        """Write up to `size` statements at the outermost place."""
        place = Place() if self._result is None else Place(Level.THREAD, meets=False)
        return self._block(scope, place, self._size, 0.96)

    def finish(self, scope: Scope) -> None:
        """Write a function's last `return`."""
        self._return(scope)

    # -- blocks

    def _block(self, scope: Scope, place: Place, most: int, more: float) -> bool:
        for _ in self._choices.several(most, more):
            if self._remaining <= 0:
                break
            self._remaining -= 1
            if self._returned_apart and place.nesting == 0:
                place = replace(place, is_whole=False)
            if self._choices.choice(self._any if place.nesting < 3 else self._simple)(scope, place):
                return True
        return place.nesting > 0 and self._jump(scope, place)

    def _inner_block(self, scope: Scope, place: Place) -> bool:
        with self._suite():
            return self._block(scope, place, 3, 0.75)

    def _jump(self, scope: Scope, place: Place) -> bool:
        if not self._choices.boolean(0.3 if place.nesting > place.loops else 0.04):
            return False
        kinds = ["break", "continue"] if place.loop is not None and place.level is place.loop else []
        if place.level is Level.BLOCK or place.is_apart or self._result is not None:
            kinds.append("return")
        if not kinds:
            return False
        kind = self._choices.choice(kinds)
        if kind == "return":
            self._return(scope)
            self._returned_apart |= place.level > Level.BLOCK
            return True
        if place.settles:
            held = dict(self._memory.shared)
            self._settle()
            self._memory.shared.update(held)
        self._write(kind)
        return True

    def _return(self, scope: Scope) -> None:
        value = "" if self._result is None else f" {self._value(self._result, scope, Level.THREAD)}"
        self._write(f"return{value}")

    # -- simple statements

    def _assign(self, scope: Scope, place: Place) -> bool:
        name, variable = self._target(self._kind(), scope, place.level)
        self._write(f"{name} = {self._value(variable.kind, scope, variable.level)}")
        scope.variables[name] = variable
        return False

    def _augment(self, scope: Scope, place: Place) -> bool:
        kind = self._number()
        names = scope.assignable(kind, place.level)
        if not names:
            return self._assign(scope, place)
        name = self._choices.choice(names)
        value = self._value(kind, scope, scope.variables[name].level)
        if kind.is_float:
            self._write(f"{name} {self._choices.choice(('+=', '-='))} {value}")
            self._write(f"{name} %= {self._choices.choice((17.0, 29.0, -19.0))}")
        else:
            self._write(f"{name} {self._choices.choice(('+=', '-=', '*=', '^=', '&=', '|='))} {value}")
        return False

    def _store_output(self, scope: Scope, place: Place) -> bool:
        if not self._memory.outputs:
            return self._assign(scope, place)
        output = self._choices.choice(self._memory.outputs)
        value = self._value(output.tensor.kind, scope, Level.THREAD)
        self._write(f"{output.tensor.name}[{output.cell}] = {value}")
        return False

    def _store_register(self, scope: Scope, place: Place) -> bool:
        if not self._memory.registers:
            return self._assign(scope, place)
        tensor = self._choices.choice(self._memory.registers)
        index = self._expressions.index(tensor.shape[0], scope, 1, Level.THREAD)
        self._write(f"{tensor.name}[{index}] = {self._value(tensor.kind, scope, Level.THREAD)}")
        return False

    def _store_shared(self, scope: Scope, place: Place) -> bool:
        own = [(tensor, cell) for tensor, cell in self._memory.shared.items() if cell is not None]
        if not own:
            return self._store_output(scope, place)
        tensor, cell = self._choices.choice(own)
        self._write(f"{tensor.name}[{cell}] = {self._value(tensor.kind, scope, Level.THREAD)}")
        return False

    def _count(self, scope: Scope, place: Place) -> bool:
        if not self._memory.counters:
            return self._assign(scope, place)
        counter = self._choices.choice(self._memory.counters)
        index = self._expressions.index(counter.tensor.shape[0], scope, 1, Level.THREAD)
        value = self._value(counter.tensor.kind, scope, Level.THREAD)
        self._write(f"cute.arch.{counter.operation}({counter.tensor.name}.iterator + ({index}), {value})")
        return False

    # -- branches

    def _agreement(self, place: Place) -> Level:
        """How far threads agree on a condition written here."""
        return self._choices.choice((Level.THREAD, Level.BLOCK, Level.THREAD, Level.WARP, Level.BLOCK))

    def _meets_inside(self, place: Place, level: Level) -> bool:
        """Decide whether a construct has barriers inside; shared memory is then readable by all at both its ends."""
        meets = place.meets and place.level is level is Level.BLOCK and self._choices.boolean(0.7)
        if meets:
            self._settle()
        return meets

    def _if(self, scope: Scope, place: Place) -> bool:
        level = self._agreement(place)
        inside = place.branch(level, self._meets_inside(place, level))
        common = [self._target(self._kind(), scope, inside.level) for _ in range(self._choices.integer(0, 2))]
        joined = dict(common)
        ends: list[Scope] = []
        for keyword in ["if", *["elif"] * self._choices.choice((0, 0, 0, 1))]:
            self._write(f"{keyword} {self._expressions.condition(scope, 2, level)}:")
            self._branch(scope.copy(), inside, joined, ends)
        if self._choices.boolean(0.6):
            self._write("else:")
            self._branch(scope.copy(), inside, joined, ends)
        else:
            ends.append(scope)
        if not ends:
            return True
        everywhere = set.intersection(*(set(end.variables) for end in ends))
        scope.variables = {name: its for name, its in ends[0].variables.items() if name in everywhere}
        return False

    def _branch(self, scope: Scope, place: Place, joined: dict[str, Variable], ends: list[Scope]) -> None:
        held = dict(self._memory.shared)
        ended = self._inner_block(scope, place)
        with self._indented():
            if not ended:
                for name, variable in joined.items():
                    self._write(f"{name} = {self._value(variable.kind, scope, variable.level)}")
                    scope.variables[name] = variable
                if place.meets:
                    self._settle()
                ends.append(scope)
        self._memory.shared.update(held)

    # -- loops

    def _loop_level(self, level: Level) -> Level:
        """A loop that threads leave one by one is one that they disagree on."""
        return Level.THREAD if self._choices.boolean(0.25) else level

    def _for_range(self, scope: Scope, place: Place) -> bool:
        if place.loops >= MOST_LOOPS:
            return self._if(scope, place)
        level = self._agreement(place)
        inside = self._loop_level(level)
        body = place.body(inside, self._meets_inside(place, inside))
        variable = Variable(Kind.INT32, body.level)
        target = self._names.fresh(variable)
        self._write(f"for {target} in range({self._range(scope, level)}):")
        inner = scope.copy()
        inner.variables[target] = variable
        self._loop_body(inner, scope, place, body)
        return False

    def _range(self, scope: Scope, level: Level) -> str:
        def count(most: int) -> str:
            return self._expressions.count(most, scope, level)

        form = self._choices.integer(0, 4)
        if form == 0:
            return str(self._choices.integer(0, 4))
        if form == 1:
            return count(5)
        if form == 2:
            return f"{count(3)}, {count(6)}"
        if form == 3:
            return f"{count(5)}, {count(2)} - 1, -1"
        return f"{count(4)}, {count(8)}, {self._choices.integer(2, 3)}"

    def _for_static(self, scope: Scope, place: Place) -> bool:
        """A loop unrolled at compile time: the body is copied."""
        if self._unrolled > 1 or place.loops >= MOST_LOOPS:
            return self._if(scope, place)
        level = self._loop_level(Level.BLOCK)
        body = place.body(level, self._meets_inside(place, level))
        variable = Variable(Kind.INT32, body.level)
        target, static = self._names.fresh(variable), self._names.fresh_with("k")
        self._write(f"for {static} in range_constexpr({self._choices.integer(1, 3)}):")
        self._write(f"    {target} = Int32({static})")
        inner = scope.copy()
        inner.variables[target] = variable
        self._unrolled = 3
        self._loop_body(inner, scope, place, body)
        self._unrolled = 1
        return False

    def _while(self, scope: Scope, place: Place) -> bool:
        if place.loops >= MOST_LOOPS:
            return self._if(scope, place)
        level = self._agreement(place)
        inside = self._loop_level(level)
        body = place.body(inside, self._meets_inside(place, inside))
        fuel = self._names.fresh_with("fuel")
        self._write(f"{fuel} = Int32({self._expressions.count(5, scope, max(level, place.level))})")
        scope.freeze(**{fuel: Variable(Kind.INT32, body.level)})
        form = self._choices.integer(0, 3)
        test = self._expressions.of(Kind.BOOL, scope, 2, body.level).text if form == 1 else ""
        self._while_burning(fuel, form, test)
        self._loop_body(scope.copy(), scope, place, body)
        return False

    def _loop_body(self, inner: Scope, after: Scope, place: Place, body: Place) -> None:
        held = dict(self._memory.shared)
        ended = self._inner_block(inner, body)
        if body.meets and not ended:
            with self._indented():
                self._settle()
        self._memory.shared.update(held)
        if self._choices.boolean(0.15):
            self._write("else:")
            self._inner_block(after.copy(), place.branch(body.level, meets=False))

"""Rewriting frame of a function: its flow facts, its exit flags, and the regions cut out of it so far."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import field

from triptych.hooks import RETURN_VALUE, RETURNED
from triptych.prestage import build
from triptych.prestage.flow import Flow
from triptych.prestage.scopes import FunctionNode, stores
from triptych.prestage.splitting import LeavableBlock
from triptych.support.dataclass import dataclass


@dataclass(slots=True)
class Frame:
    """Everything the rewriters share about one function."""

    file: str
    function: FunctionNode
    flow: Flow
    first_parameter: str | None
    partial: set[str]
    """Variables that a construct may see undefined on one side: read through `known` or `load`."""
    outer_partial: set[str] = field(default_factory=set)
    """Such variables of the enclosing functions."""
    outer_unsure: set[ast.AST] = field(default_factory=set)
    """Names that may read a variable of an enclosing function before it is assigned."""
    loops: list[ast.For | ast.While] = field(default_factory=list)
    blocks: list[LeavableBlock] = field(default_factory=list)
    depth: int = 0
    """How many regions deep the rewriter is: a `return` at depth 0 is Python's own."""
    flags: dict[str, set[str]] = field(default_factory=dict)
    """Exit flags in use, with the variables that are read where each exit leads."""
    loop_numbers: dict[ast.AST, int] = field(default_factory=dict)
    managed: set[str] = field(default_factory=set)
    """Variables assigned inside a region: bound to UNDEFINED at the function's start, so regions can reach them."""
    regions: dict[str, set[str]] = field(default_factory=dict)
    """The names of the regions cut out so far, each with the variables that running it may assign."""
    attributes: list[tuple[str, str]] = field(default_factory=list)
    """The attributes of variables that are assigned, each as (variable, attribute), in the order of rewriting."""
    numbers: int = 0
    stops: bool = False
    """Whether every statement tells the hooks that it is about to run: builds for a debugger."""

    def fresh_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def assigned(self, body: Iterable[ast.AST]) -> set[str]:
        """The function's variables and flags that running rewritten `body` may assign, regions included."""
        direct, indirect = self._assigned(body)
        return direct | indirect

    def assigned_inside(self, body: Iterable[ast.AST]) -> set[str]:
        """What the regions in `body` may assign."""
        return self._assigned(body)[1]

    def _assigned(self, body: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
        """What `body` assigns itself, and what the regions in it do."""
        found = stores(body)
        inside = [self.regions[name] for name in found & self.regions.keys()]
        return found & (self.flow.locals | self.flags.keys()), set().union(*inside)

    def region(
        self, role: str, number: int, params: Sequence[str], body: Sequence[ast.stmt], like: ast.AST
    ) -> ast.FunctionDef:
        """Cut `body` out into a function `_tt_<role>_<number>` that assigns the function's variables itself."""
        direct, indirect = self._assigned(body)
        region = build.define(f"_tt_{role}_{number}", params, direct, body)
        self.regions[region.name] = direct | indirect
        self.managed |= direct
        return build.at(region, like)

    def assign_at_end(self, region: ast.FunctionDef, names: Sequence[str], value: ast.expr) -> None:
        """Let `region` end by assigning `value` to each of the function's variables `names`."""
        if not names:
            return
        declared = {n for s in region.body if isinstance(s, ast.Nonlocal) for n in s.names} | set(names)
        body = [s for s in region.body if not isinstance(s, ast.Nonlocal)]
        targets: list[ast.expr] = [build.target(name) for name in names]
        region.body = [build.at(s, region) for s in (ast.Nonlocal(sorted(declared)), *body, ast.Assign(targets, value))]
        self.regions[region.name] |= set(names)
        self.managed |= set(names)

    def setter(self, number: int, names: Sequence[str], like: ast.AST, places: Sequence[str] = ()) -> ast.FunctionDef:
        """`def _tt_set_N(_tt_values): nonlocal …; (names, places) = _tt_values`."""
        targets: list[ast.expr] = [build.target(n) for n in names]
        targets += [ast.Attribute(build.name(p), "value", build.STORE) for p in places]
        unpack = ast.Assign([ast.Tuple(targets, ast.Store())], build.name("_tt_values"))
        self.managed |= set(names)
        return build.at(build.define(f"_tt_set_{number}", ["_tt_values"], names, [unpack]), like)

    def break_flag(self, loop: ast.AST) -> str:
        return self._flag(f"_tt_break_{self._number(loop)}", self.flow.live_after(loop))

    def continue_flag(self, loop: ast.AST) -> str:
        return self._flag(f"_tt_continue_{self._number(loop)}", self.flow.live_at_head(loop))

    def leave_flag(self, block: ast.AST) -> str:
        return self._flag(f"_tt_leave_{self._number(block)}", self.flow.live_after(block))

    def return_flag(self) -> str:
        self._flag(RETURN_VALUE, set())
        return self._flag(RETURNED, set())

    def open_flags(self) -> set[str]:
        """The flags that code at this point can still take: of the loops around it, and of the function."""
        numbers = [self.loop_numbers.get(loop) for loop in (*self.loops, *self.blocks)]
        loops = {f"_tt_{kind}_{number}" for kind in ("break", "continue", "leave") for number in numbers}
        return (loops | {RETURNED, RETURN_VALUE}) & self.flags.keys()

    def live_at(self, exits: Iterable[str]) -> set[str]:
        """Variables read where the given early exits lead to."""
        return set().union(*(self.flags[flag] for flag in exits))

    def _flag(self, flag: str, live: set[str]) -> str:
        self.flags[flag] = live
        return flag

    def _number(self, loop: ast.AST) -> int:
        return self.loop_numbers.setdefault(loop, len(self.loop_numbers) + 1)

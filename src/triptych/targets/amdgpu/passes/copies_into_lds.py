"""Passes `copy-into-lds`, `part-async-copies`: asynchronous copies into LDS without registers, and waits that count.

Input: kernels with `simt.async_copy` and its groups. Output: on gfx9 those of 4 bytes, on gfx950 also those of 16, are
one instruction; the hardware puts what lane i reads i times as many bytes behind a place that the wave has in common.
So only copies whose lanes lie side by side can be. All others are left: they go through registers.

A wave counts its accesses to memory in order. Waiting until at most as many are under way as the last groups have had
copies leaves those groups alone; what else is under way makes the wait longer, never shorter. A group that may have no
copy makes the wait one for everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Block, Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.types import SHARED_SPACE, memory_space
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_attributes import device_of
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    constant_of,
    defining_op,
    has_body,
    is_described,
    known_block,
    operations,
    walk,
)
from triptych.kernel_ir.dialects.simt import ASYNC_COMMIT, ASYNC_COPY, ASYNC_WAIT, BARRIER
from triptych.targets.amdgpu.description import instructions as isa
from triptych.targets.amdgpu.description.chips import Chip, Feature
from triptych.targets.amdgpu.passes.wave_code import ACQUIRE_RELEASE, WAVE, WaveCode

COPIES = frozenset({ASYNC_COPY})
LDS_COPY = "rocdl.global.load.lds"
_SIZES = {Feature.LDS_COPY: 4, Feature.LDS_COPY_16: 16}
_MOST_COUNTED = 63
"""What `s_waitcnt` can count to."""
_LDS_DONE = 0xC07F
"""The operand of `s_waitcnt` on gfx9 that waits for accesses to LDS alone."""
COMMIT_MASK, _COPY_MASK = 0x78F, 0x40F
"""Of `sched.barrier`. At a commit arithmetic and accesses to LDS may move across, those to memory may not; in front of
copies only arithmetic: what was read before is read before the copy writes there, which LLVM is told not to look at."""
_GROUP_BITS = (0x2, 0x4, 0x8, 0x400)
"""The same at a wait, where only kinds of arithmetic may move: which of them says how many groups the wait leaves. It
stands in the assembly, where the checker of waits reads it."""
MOST_GROUPS = (1 << len(_GROUP_BITS)) - 1


def copying(chip: Chip) -> Callable[[Module], bool]:
    """Pass `copy-into-lds` for one chip; on one without such copies it finds nothing."""
    sizes = frozenset(size for feature, size in _SIZES.items() if feature in chip.features)

    def copy_into_lds(module: Module) -> bool:
        changed = [kernel for kernel in kernels(module) if _convert(kernel, chip, sizes)]
        return bool(changed)

    return copy_into_lds


def _convert(kernel: Operation, chip: Chip, sizes: frozenset[int]) -> bool:
    found = [copy for copy in operations_named(kernel, ASYNC_COPY) if copy.attributes["size"].value in sizes]
    if not found or not all(map(is_described, walk(kernel))):
        return False
    if device_of(kernel).lanes < chip.lanes:
        return False  # the numbers of lanes, by which programs find places, are those of warps
    arrays = frozenset(op.results[0] for op in operations_named(kernel, "llvm.alloca"))
    shape = Shape(chip.lanes, known_block(kernel), lockstep=True, lanes=chip.lanes)
    analysis = UniformityAnalysis(kernel, shape, by_element=arrays)
    chosen = {copy for copy in found if _is_side_by_side(copy, analysis, chip)}
    if not chosen:
        return False
    bindings.mark_dialect_loaded("rocdl")
    least = _Counting(kernel, chosen).least
    for copy in chosen:
        _replace(copy, chip)
    for commit in operations_named(kernel, ASYNC_COMMIT):
        _mark(commit, chip, COMMIT_MASK)
    for wait in operations_named(kernel, ASYNC_WAIT):
        _wait(wait, chip, least)
    for barrier in operations_named(kernel, "gpu.barrier", BARRIER):
        _synchronize(barrier, chip)
    return True


def _is_side_by_side(copy: Operation, analysis: UniformityAnalysis, chip: Chip) -> bool:
    """Whether lane i writes i times as many bytes behind lane 0, and all lanes copy all bytes or none."""
    offsets, size = analysis.at(copy.operands[0]).offsets, copy.attributes["size"].value
    if offsets is None or tuple(offsets) != tuple(lane * size for lane in range(chip.lanes)):
        return False
    return len(copy.operands) == 2 or _guard(copy) is not None


def _guard(copy: Operation) -> Value | None:
    """What decides between all bytes and none."""
    choice = defining_op(copy.operands[2])
    if choice is None or choice.name != "arith.select":
        return None
    guard, *sizes = choice.operands
    return guard if list(map(constant_of, sizes)) == [copy.attributes["size"].value, 0] else None


def _replace(copy: Operation, chip: Chip) -> None:
    builder = Builder(copy.context)
    builder.stand_before(copy)
    target, source, *_ = copy.operands
    size = copy.attributes["size"].value
    guard = _guard(copy) if len(copy.operands) > 2 else None
    if guard is None:
        _issue(builder, chip, target, source, size)
    else:
        choice = builder.operation("scf.if", (guard,), regions=2)
        before = builder.enter(builder.append_block(choice, 0))
        _issue(builder, chip, target, source, size)
        builder.operation("scf.yield")
        builder.enter(builder.append_block(choice, 1))
        kind = builder.vector(size // 4, "i32")
        zeros = builder.value("arith.constant", (), kind, {"value": builder.splat(kind, builder.integer("i32", 0))})
        access = {"alignment": builder.integer("i64", size), "ordering": builder.integer("i64", 0)}
        builder.operation("llvm.store", (zeros, target), attributes=access)
        builder.operation("scf.yield")
        builder.leave(before)
    copy.erase()


def _issue(builder: Builder, chip: Chip, target: Value, source: Value, size: int) -> None:
    """The instruction counts lanes itself, so it is given where lane 0 would write."""
    code = WaveCode(builder, chip, chip.lanes)
    code.effect(isa.SCHEDULING_BARRIER, (code.number(_COPY_MASK),))
    behind = builder.value("arith.muli", (code.lane(), code.number(-size)), "i32")
    facts = {
        "rawConstantIndices": builder.attribute("array<i32: -2147483648>"),
        "elem_type": builder.type_attribute("i8"),
    }
    first = builder.value("llvm.getelementptr", (target, behind), target.type, facts)
    sizes = {"size": size, "offset": 0, "aux": 0}
    attributes = {name: builder.integer("i32", value) for name, value in sizes.items()}
    builder.operation(LDS_COPY, (source, first), attributes=attributes)


def _mark(operation: Operation, chip: Chip, mask: int) -> None:
    builder = Builder(operation.context)
    builder.stand_before(operation)
    code = WaveCode(builder, chip, chip.lanes)
    code.effect(isa.SCHEDULING_BARRIER, (code.number(mask),))
    operation.erase()


def _wait(operation: Operation, chip: Chip, least: int) -> None:
    groups = min(operation.attributes["groups"].value, MOST_GROUPS)
    builder = Builder(operation.context)
    builder.stand_before(operation)
    code = WaveCode(builder, chip, chip.lanes)
    code.effect(isa.WAIT, (code.number(counter_word(min(least * groups, _MOST_COUNTED))),))
    _mark(operation, chip, wait_mask(groups))


def _synchronize(barrier: Operation, chip: Chip) -> None:
    """A barrier that does not wait for copies, as upstream's would: the program has waited for those that it needs.

    Stores to LDS have to be done; those to global memory the waves of a block see in order, for they share a cache.
    """
    builder = Builder(barrier.context)
    builder.stand_before(barrier)
    code = WaveCode(builder, chip, chip.lanes)
    order = {"ordering": builder.integer("i64", ACQUIRE_RELEASE), "syncscope": builder.string(WAVE)}
    builder.operation("llvm.fence", (), attributes=order)
    code.effect(isa.WAIT, (code.number(_LDS_DONE),))
    code.effect(isa.BARRIER)
    builder.operation("llvm.fence", (), attributes=order)
    barrier.erase()


def wait_mask(groups: int) -> int:
    """The mask at a wait that leaves so many groups."""
    return sum(bit for place, bit in enumerate(_GROUP_BITS) if groups >> place & 1)


def groups_left(mask: int) -> int | None:
    """How many groups the wait with that mask leaves; None for a mask that is of no wait."""
    if mask in (COMMIT_MASK, _COPY_MASK):
        return None
    return sum(1 << place for place, bit in enumerate(_GROUP_BITS) if mask & bit)


def counter_word(accesses: int) -> int:
    """The operand of `s_waitcnt` on gfx9 that waits until so many accesses to memory are under way."""
    return accesses & 0xF | 7 << 4 | 0xF << 8 | accesses >> 4 << 14


class _Counting:
    """The fewest copies that any group of a kernel has, on any way through it."""

    def __init__(self, kernel: Operation, copies: set[Operation]) -> None:
        self._copies = copies
        self._groups: list[int] = []
        self._kernel = kernel

    @property
    def least(self) -> int:
        self._block(body(self._kernel), 0)
        return min(self._groups, default=0)

    def _block(self, block: Block, pending: int) -> int:
        """How many copies there are at least since the last commit, behind a block."""
        for operation in operations(block):
            if operation in self._copies:
                pending += len(operation.operands) == 2
            elif operation.name == ASYNC_COMMIT:
                self._groups.append(pending)
                pending = 0
            elif operation.name == "scf.if":
                pending = min(self._side(operation, i, pending) for i in (0, 1))
            elif operation.name in ("scf.for", "scf.while"):
                pending = self._loop(operation, pending)
        return pending

    def _side(self, branch: Operation, region: int, pending: int) -> int:
        return self._block(body(branch, region), pending) if has_body(branch, region) else pending

    def _loop(self, loop: Operation, pending: int) -> int:
        """A body that is entered again has as many before it as it leaves; one that is left out leaves what was."""
        regions = range(len(loop.regions))
        commits = any(inner.name == ASYNC_COMMIT for inner in walk(loop))
        if commits:
            return min(pending, *(self._block(body(loop, i), 0) for i in regions))
        once = sum(self._block(body(loop, i), 0) for i in regions)
        return pending + once * _turns(loop)


def _turns(loop: Operation) -> int:
    """How often it runs at least."""
    if loop.name != "scf.for":
        return 0
    start, stop, step = (constant_of(loop.operands[i]) for i in range(3))
    if start is None or stop is None or not step:
        return 0
    return max(0, -(-(stop - start) // step))


# Pass `part-async-copies`: LLVM learns that a read of LDS is not of what a copy under way writes.
#
# It cannot know, and would wait for all copies in front of every read. The program has said when they are done.

ISSUED = frozenset({LDS_COPY})
_SCOPE = "#llvm.alias_scope<id = distinct[0]<>, domain = #llvm.alias_scope_domain<id = distinct[1]<>>>"


def part_async_copies(module: Module) -> None:
    for function in kernels(module, "llvm.func"):
        copies = operations_named(function, LDS_COPY)
        if copies:
            scope = Builder(function.context).attribute(f"[{_SCOPE}]")
            for copy in copies:
                copy.attributes["alias_scopes"] = scope
            for access in _of_lds(function):
                access.attributes["noalias_scopes"] = scope


def _of_lds(function: Operation) -> Iterator[Operation]:
    for access in operations_named(function, "llvm.load", "llvm.store"):
        if memory_space(access.operands[-1].type) == SHARED_SPACE:
            yield access

"""Block function of a kernel, which runs blocks one after the other: the block's own code, and loops over its warps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from triptych.ir import bindings
from triptych.ir.handles import Attribute, Block, Module, Operation, Type, Value
from triptych.ir.types import byte_size, element_type, is_index, is_integer, is_vector, lanes
from triptych.kernel_ir.analysis.spin_loops import waits
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_attributes import device_of
from triptych.kernel_ir.dialects.kernel_operations import (
    awaits_others,
    body,
    defining_op,
    has_body,
    inner,
    known_block,
    operations,
    producer,
)
from triptych.kernel_ir.transforms.loop_passes import CARRIED
from triptych.targets.cpu.abi.kernel_functions import POLL_REQUEST
from triptych.targets.cpu.blocks.barrier_regions import (
    Item,
    LiveAcross,
    NeedsCoroutines,
    Once,
    Segment,
    UniformControlFlow,
    is_block,
    partition_at_barriers,
    segments,
)
from triptych.targets.cpu.emit.bundles import add_group
from triptych.targets.cpu.emit.dispatch import convert
from triptych.targets.cpu.emit.fma_grouping import ForwardedLoad
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.launch_frame import LaunchFrame, turn
from triptych.targets.cpu.emit.packed_sums import PackedGroup, PackedSums, Slot
from triptych.targets.cpu.emit.values import Emitted, PrivateArray, Scalar, plain_pointer, private_arrays
from triptych.targets.cpu.emit.warp import BlockEnv, LaunchCoordinates, Observe, Warp


class BlockFunction(BlockEnv):
    """Builds `<name>.blocks(kernel arguments, grid x 3, block x 3, shared bytes, begin, end)`."""

    def __init__(self, kernel: Operation, module: Module, width: int, observe: Observe) -> None:
        super().__init__(module)
        self._kernel = kernel
        self._private = private_arrays(kernel)
        by_element = frozenset(root for root, array in self._private.items() if array.by_element)
        shape = Shape(width, known_block(kernel), lanes=device_of(kernel).lanes)
        self._analysis, self._items = _planned(kernel, shape, by_element)
        self._crossings = LiveAcross(self._items, self._analysis)
        self._code = LaneBuilder(width, module.context)
        self.observer = observe(kernel, self._code, self)
        self._values: dict[Value, Emitted] = {}
        self._scratch: dict[tuple[Type, str], Value] = {}
        self._spill_slots: dict[Value, list[tuple[Type, Value]]] = {}
        self._free: defaultdict[Type, list[Value]] = defaultdict(list)
        """Homes that nobody lives in any more, by what they hold."""
        self._array_memory: dict[Value, tuple[Value, bool]] = {}
        self._bases: dict[Value, Value] = {}
        """Where the arrays of the warp begin whose code is written; accesses are thousands."""
        self._array_segments = self._segments_of_arrays()

    def build(self) -> Operation:
        code = self._code
        self._frame = frame = LaunchFrame(self._kernel, self._module, code)
        self.shared = frame.shared
        sequences = [segment.operations for segment in segments(self._items)]
        self._sums = PackedSums(sequences, self._analysis, self._private, whole_warps=frame.whole_warps)
        for argument, value in zip(body(self._kernel).arguments, frame.arguments, strict=True):
            self._values[argument] = Scalar(value)

        def run(position: LaunchCoordinates) -> None:
            self._position = position
            self._run(self._items)

        frame.build(run, self.observer)
        return frame.function

    # memory -----------------------------------------------------------------------------------------------------
    def _allocate(self, kind: Type, count: int) -> Value:
        return self._frame.memory.allocate(kind, count)

    def scratch(self, kind: Type, role: str = "") -> Value:
        if (kind, role) not in self._scratch:
            self._scratch[kind, role] = self._allocate(kind, 1)
        return self._scratch[kind, role]

    def slot(self, root: Value, element: int) -> Slot | None:
        return self._sums.slots.get(root, {}).get(element)

    def private(self, warp: Warp, root: Value) -> tuple[PrivateArray, Value]:
        if root not in self._bases:
            self._bases[root] = self._part(warp, root)
        return self._private[root], self._bases[root]

    def _part(self, warp: Warp, root: Value) -> Value:
        array, code = self._private[root], self._code
        bytes_of_all = code.type(f"!llvm.array<{array.size * code.width} x i8>")
        kind = code.wide(array.element) if array.by_element else bytes_of_all
        count = array.count if array.by_element else 1
        if root not in self._array_memory:
            used = self._array_segments[root]
            once = len(used) == 1 and not next(iter(used)).in_loop
            self._array_memory[root] = (self._allocate(kind, count * (1 if once else self._frame.most_warps)), once)
        memory, once = self._array_memory[root]
        return memory if once or self._frame.most_warps == 1 else self._base(warp, memory, kind, count)

    def _base(self, warp: Warp, memory: Value, kind: Type, count: int) -> Value:
        """The address of this warp's part of an array, computed where its code begins: all of it may use it."""
        code, start = self._code, warp.number.owner
        before = code.insertion
        made = defining_op(warp.number)
        if made is not None:  # the turns of the warps have an order of their own
            code.insertion = code.after(made)
        else:
            assert isinstance(start, bindings.mlir().Block), "a segment starts after an operation or in a block"
            code.insertion = code.at_start(start)
        place = code.value("arith.muli", (warp.number, code.constant(count, "i32")), "i32")
        address = code.offset(memory, code.value("arith.extui", (place,), "i64"), kind)
        code.insertion = before
        return address

    def _segments_of_arrays(self) -> dict[Value, set[Segment]]:
        found: dict[Value, set[Segment]] = {root: set() for root in self._private}
        roots = {root: root for root in self._private}
        for segment in segments(self._items):
            for operation in segment.operations:
                _follow(operation, roots, partial(_note, found, segment))
        return found

    def fault(self, warp: Warp, thread: Value) -> None:
        self._frame.memory.write_fault(self._position.block_ids, thread)

    def poll(self, warp: Warp, loop: Operation) -> None:
        self._poll()

    # items ------------------------------------------------------------------------------------------------------
    def _run(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, Segment):
                self._run_segment(item)
            elif isinstance(item, Once):
                self._once().convert(item.operation)
            else:
                self._run_together(item)
            for value in self._crossings.ending(item):
                for kind, slot in self._spill_slots.pop(value):
                    self._free[kind].append(slot)

    def _once(self) -> Warp:
        return Warp(convert, self._code, self._analysis, self._position, self, self._values, None, None)

    def _run_segment(self, segment: Segment) -> None:
        code = self._code
        if self._frame.most_warps == 1:
            self._run_warp(segment, code.constant(0, "i32"))
            return
        zero, one = code.constant(0, "i32"), code.constant(1, "i32")
        loop = code.operation("scf.for", (zero, self._frame.warps, one), (), {CARRIED: self._rolled}, 1)
        inside = code.append_block(loop, 0, ["i32"])
        before = code.enter(inside)
        self._run_warp(segment, turn(code, inside.arguments[0], self._frame.warps, self._position.block_ids[0]))
        code.operation("scf.yield")
        code.leave(before)

    @property
    def _rolled(self) -> Attribute:
        """LLVM would write the code of every warp out, and its scheduler is quadratic."""
        return self._code.attribute("#llvm.loop_annotation<unroll = <disable = true>>")

    def _run_warp(self, segment: Segment, number: Value) -> None:
        warp = Warp(convert, self._code, self._analysis, self._position, self, dict(self._values), number, None)
        self._bases = {}
        warp.mask = self._existing(warp)
        for value in self._crossings.needs(segment):
            if self._crossings.is_rematerializable(value):
                warp.convert(producer(value))
            else:
                self._reload(warp, value)
        for operation in self._sums.order(segment.operations):
            if isinstance(operation, PackedGroup):
                add_group(warp, operation)
                continue
            if isinstance(operation, ForwardedLoad):
                warp.take(operation.load, operation.value, operation.element)
                continue
            warp.convert(operation)
            for result in operation.results:
                if self._crossings.stored(result):
                    self._spill(warp, result, warp.forms(result, self._known(result)))
        copied = [(place, warp.forms(value, self._known(place))) for value, place in segment.copies]
        for place, forms in copied:
            self._spill(warp, place, forms)

    def _existing(self, warp: Warp) -> Value | None:
        """The lanes that are threads: the last warp of a block may have fewer."""
        if self._frame.whole_warps:
            return None
        return self._code.compare_lanes("ult", warp.linear().value, self._code.broadcast(self._frame.threads, "i32"))

    # slots ------------------------------------------------------------------------------------------------------
    def _known(self, value: Value) -> bool:
        return self._analysis.at(self._crossings.place(value)).known and self._analysis.at(value).known

    def _spill_slot(self, warp: Warp, value: Value) -> list[tuple[Type, Value]]:
        place = self._crossings.place(value)
        if place not in self._spill_slots:
            kinds = warp.form_types(place, self._analysis.at(place).known)
            self._spill_slots[place] = [(kind, self._new_spill_slot(kind)) for kind in kinds]
        return self._spill_slots[place]

    def _new_spill_slot(self, kind: Type) -> Value:
        return (
            self._free[kind].pop()
            if self._free[kind]
            else self._allocate(_stored(self._code, kind), self._frame.most_warps)
        )

    def _addresses(self, warp: Warp, value: Value) -> list[tuple[Type, Value]]:
        code = self._code
        number = code.value("arith.extui", (warp.number,), "i64")
        return [(kind, code.offset(base, number, _stored(code, kind))) for kind, base in self._spill_slot(warp, value)]

    def _spill(self, warp: Warp, value: Value, forms: Sequence[tuple[Type, Value]]) -> None:
        for (kind, address), (_, part) in zip(self._addresses(warp, value), forms, strict=True):
            stored = _stored(self._code, kind)
            part = self._code.value("arith.index_cast", (part,), stored) if stored != kind else part
            self._code.store(part, address, _slot_alignment(stored))

    def _reload(self, warp: Warp, value: Value) -> None:
        parts = []
        for kind, address in self._addresses(warp, value):
            stored = _stored(self._code, kind)
            part = self._code.load(address, stored, _slot_alignment(stored))
            parts.append(self._code.value("arith.index_cast", (part,), kind) if stored != kind else part)
        known = self._analysis.at(self._crossings.place(value)).known
        warp.set(value, warp.rebuild(value, known, parts))

    # control flow of the block ----------------------------------------------------------------------------------
    def _run_together(self, item: UniformControlFlow) -> None:
        {"scf.for": self._for, "scf.if": self._if, "scf.while": self._while}[item.operation.name](item)

    def _scalars(self, values: Sequence[Value], like: Sequence[Value]) -> list[Value]:
        """What the block itself carries."""
        once = self._once()
        return [once.scalar(v) for v, place in zip(values, like, strict=True) if is_block(self._analysis, place)]

    def _kinds(self, values: Sequence[Value]) -> list[Type]:
        return [plain_pointer(value.type) for value in values if is_block(self._analysis, value)]

    def _bind(self, values: Sequence[Value], given: Sequence[Value]) -> None:
        mine = [value for value in values if is_block(self._analysis, value)]
        for value, made in zip(mine, given, strict=True):
            self._values[value] = Scalar(made)

    def _inside(self, block: Block, items: Sequence[Item], end: Callable[[], object]) -> None:
        before = self._code.enter(block)
        self._run(items)
        end()
        self._code.leave(before)

    def _poll(self) -> None:
        self._code.operation("func.call", attributes={"callee": self._code.attribute(f"@{POLL_REQUEST}")})

    def _yield(self, values: Sequence[Value], places: Sequence[Value]) -> None:
        self._code.operation("scf.yield", self._scalars(values, places))

    def _go_on(self, values: Sequence[Value], places: Sequence[Value]) -> None:
        """The end of an iteration of the block."""
        self._poll()
        self._yield(values, places)

    def _for(self, item: UniformControlFlow) -> None:
        operation, code = item.operation, self._code
        code.location = operation.location
        counter, *carried = body(operation).arguments
        bounds, initial = list(operation.operands)[:3], list(operation.operands)[3:]
        once = self._once()
        kinds = self._kinds(carried)
        made = code.operation(
            "scf.for", [*(once.scalar(b) for b in bounds), *self._scalars(initial, carried)], kinds, regions=1
        )
        inside = code.append_block(made, 0, [counter.type, *kinds])
        self._values[counter] = Scalar(inside.arguments[0])
        self._bind(carried, list(inside.arguments)[1:])
        end = operations(body(operation))[-1]
        self._inside(
            inside,
            item.bodies[0],
            partial(self._go_on, list(end.operands), carried),
        )
        self._bind(list(operation.results), list(made.results))

    def _if(self, item: UniformControlFlow) -> None:
        operation, code = item.operation, self._code
        code.location = operation.location
        results = list(operation.results)
        condition = self._once().scalar(operation.operands[0])
        made = code.operation("scf.if", (condition,), self._kinds(results), regions=2)
        for side in range(2):
            if not has_body(operation, side):
                continue
            end = operations(body(operation, side))[-1]
            self._inside(
                code.append_block(made, side),
                item.bodies[side],
                partial(self._yield, list(end.operands), results),
            )
        self._bind(results, list(made.results))

    def _while(self, item: UniformControlFlow) -> None:
        operation, code = item.operation, self._code
        code.location = operation.location
        entering, passing = list(body(operation, 0).arguments), list(body(operation, 1).arguments)
        initial = self._scalars(list(operation.operands), entering)
        made = code.operation("scf.while", initial, self._kinds(passing), regions=2)
        head = code.append_block(made, 0, self._kinds(entering))
        self._bind(entering, list(head.arguments))
        condition, *forwarded = operations(body(operation, 0))[-1].operands
        self._inside(
            head,
            item.bodies[0],
            lambda: code.operation(
                "scf.condition", [self._once().scalar(condition), *self._scalars(forwarded, passing)]
            ),
        )
        inside = code.append_block(made, 1, self._kinds(passing))
        self._bind(passing, list(inside.arguments))
        end = operations(body(operation, 1))[-1]
        self._inside(
            inside,
            item.bodies[1],
            partial(self._go_on, list(end.operands), entering),
        )
        self._bind(list(operation.results), list(made.results))


def _planned(kernel: Operation, shape: Shape, by_element: frozenset[Value]) -> tuple[UniformityAnalysis, list[Item]]:
    if waits(kernel) or awaits_others(kernel):
        raise NeedsCoroutines(kernel)
    per_warp: frozenset[Operation] = frozenset()
    while True:
        analysis = UniformityAnalysis(kernel, shape, per_warp, by_element)
        items, more = partition_at_barriers(kernel, analysis)
        if not more - per_warp:
            return analysis, items
        per_warp |= more


def _note(found: dict[Value, set[Segment]], segment: Segment, root: Value) -> None:
    found[root].add(segment)


def _stored(code: LaneBuilder, kind: Type) -> Type:
    """The type that memory holds for a value."""
    if not is_index(element_type(kind)):
        return kind
    count = lanes(kind)
    return code.type("i64") if count is None else code.vector(count, "i64")


def _slot_alignment(kind: Type) -> int:
    if is_vector(kind) and is_integer(kind.element_type, 1):
        return 1
    return min(64, byte_size(kind))


def _follow(operation: Operation, roots: dict[Value, Value], note: Callable[[Value], None]) -> None:
    """Tell which arrays an operation and what is inside it use; addresses made from an array count as it."""
    for operand in operation.operands:
        if operand in roots:
            note(roots[operand])
            if operation.name == "llvm.getelementptr":
                roots[operation.results[0]] = roots[operand]
    for child in inner(operation):
        _follow(child, roots, note)

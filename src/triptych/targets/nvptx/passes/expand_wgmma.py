"""Pass `expand-wgmma`: WGMMAs, and what waits for them, as inline PTX on registers.

Input: kernels whose fragments are private arrays. Output: one piece of PTX for each `tile.wgmma`, between loads and
stores of whole registers at constant offsets, so that LLVM keeps the arrays in registers.

The instructions run on while the warp does other things, which no value says: a wait takes, and gives back, all sums
that may still be written, so that nothing reads them before; it also takes the registers of A, so that nothing else is
put there. Of those a copy is kept: the program may fill the array again before it waits. A fence takes what the
products after it read and write, so that it comes after all that others write there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import groupby

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Block, Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.types import SHARED_SPACE, memory_space
from triptych.kernel_ir.dialects.kernel_operations import producer
from triptych.kernel_ir.dialects.mma import WARPGROUP_MMAS, WarpgroupMma
from triptych.kernel_ir.dialects.opdef import WgmmaStep
from triptych.kernel_ir.dialects.smem_operands import SmemOperand
from triptych.kernel_ir.dialects.tile import WGMMA_STEPS
from triptych.support.dataclass import dataclass

_MOST_GROUPS = 8
"""Groups are counted up to here; a product with more behind it stays at this number."""

_State = dict[Operation, int]
"""Products by the number of groups that have been closed since."""

_ALIGNMENT = 4
"""Bytes of a register."""
_LETTERS = {"f32": "f", "i32": "r"}
_ADDRESS_BITS, _LOW = 0x3FFF, 0xFFFFFFFF


def expand_wgmma(module: Module) -> None:
    """Write out all products, fences and waits of the kernels."""
    for kernel in kernels(module, "llvm.func"):
        operations = operations_named(kernel, *WGMMA_STEPS)
        if operations:
            _Kernel(kernel).write(operations)


@dataclass(frozen=True, slots=True)
class _Registers:
    """Places of registers in a private array."""

    base: Value
    element: Attribute
    """The attribute that holds the type of the array's elements."""
    kind: str
    offsets: tuple[int, ...]


class _Kernel:
    """The products of one kernel."""

    def __init__(self, kernel: Operation) -> None:
        self._kernel = kernel
        self._builder = Builder(kernel.context)
        self._memory = {
            "alignment": self._builder.integer("i64", _ALIGNMENT),
            "ordering": self._builder.integer("i64", 0),
        }
        self._flight = wgmma_in_flight(kernel)
        self._kept: dict[Operation, _Registers] = {}
        """The copies of A of products that take it from registers."""

    def write(self, operations: Sequence[Operation]) -> None:
        for operation in operations:
            if WGMMA_STEPS[operation.name] is WgmmaStep.BEGIN and not _is_shared(operation):
                self._kept[operation] = self._room(operation)
        for operation in operations:
            self._builder.stand_before(operation)
            _Writer(self._builder, self._memory, operation).write(self)
        for operation in operations:
            operation.erase()

    def in_flight(self, wait: Operation) -> tuple[list[_Registers], list[_Registers]]:
        """The sums that a wait takes and gives, and the registers that it only takes."""
        products = self._flight.waited[wait]
        return _merged([_sums(each) for each in products]), [
            self._kept[each] for each in products if each in self._kept
        ]

    def following(self, fence: Operation) -> list[_Registers]:
        """What a fence takes and gives."""
        products = self._flight.fenced[fence]
        return _merged([_sums(each) for each in products] + [_of_a(each) for each in products if not _is_shared(each)])

    def kept(self, product: Operation) -> _Registers | None:
        return self._kept.get(product)

    def _room(self, product: Operation) -> _Registers:
        """An array for the registers of A, with as many elements."""
        count = len(_of_a(product).offsets)
        builder = self._builder
        builder.insertion = builder.at_start(self._kernel.regions[0].blocks[0])
        size = {"value": builder.integer("i32", count)}
        number = builder.value("llvm.mlir.constant", (), "i32", size, location=product.location)
        element = builder.type_attribute("i32")
        room = {"elem_type": element, "alignment": builder.integer("i64", _ALIGNMENT)}
        made = builder.value("llvm.alloca", (number,), "!llvm.ptr", room, location=product.location)
        return _Registers(made, element, "i32", tuple(range(count)))


class _Writer:
    """Builds what stands for one operation, in front of it and at its place in the source."""

    def __init__(self, builder: Builder, memory: dict[str, Attribute], operation: Operation) -> None:
        self._builder, self._memory = builder, memory
        self._operation = operation
        self._addresses: dict[tuple[Value, int], Value] = {}

    def write(self, kernel: _Kernel) -> None:
        match WGMMA_STEPS[self._operation.name]:
            case WgmmaStep.BEGIN:
                self._multiply(kernel.kept(self._operation))
            case WgmmaStep.WAIT:
                sums, read = kernel.in_flight(self._operation)
                groups = self._operation.attributes["groups"].value
                self._pass_through(f"wgmma.wait_group.sync.aligned {groups};", sums, read)
            case WgmmaStep.FENCE:
                self._pass_through("wgmma.fence.sync.aligned;", kernel.following(self._operation), [])
            case WgmmaStep.COMMIT:
                self._pass_through("wgmma.commit_group.sync.aligned;", [], [])

    # products -----------------------------------------------------------------------------------------------------
    def _multiply(self, kept: _Registers | None) -> None:
        operation = self._operation
        instruction = WARPGROUP_MMAS[operation.attributes["instruction"].value]
        sums = _sums(operation)
        values = self._load(sums)
        a_values, a_texts = self._a(len(values), kept)
        b_values, b_texts = self._descriptors(2, "b", len(values) + len(a_values))
        accumulate = f"${len(values) + len(a_values) + len(b_values)}"
        text = _text(operation, instruction, len(values), a_texts, b_texts, accumulate)
        letter = _LETTERS[sums.kind]
        constraints = [f"={letter}"] * len(values) + [("r" if kept else "l")] * len(a_values)
        constraints += ["l"] * len(b_values) + ["b"] + [str(i) for i in range(len(values))]
        inputs = [*a_values, *b_values, operation.operands[3], *values]
        self._store(sums, self._inline(text, constraints, inputs, [sums.kind] * len(values)))

    def _a(self, first: int, kept: _Registers | None) -> tuple[list[Value], list[str]]:
        """The operands of A, of which the first has this number, and how each instruction names its own."""
        if kept is None:
            return self._descriptors(1, "a", first)
        registers = _of_a(self._operation)
        values = self._load(registers)
        self._store(kept, values)
        m, _, k = _integers(self._operation, "tiles")
        count = len(values) // (m * k)
        texts = [", ".join(f"${first + count * i + j}" for j in range(count)) for i in range(m * k)]
        return values, [f"{{{text}}}" for text in texts]

    def _descriptors(self, operand: int, name: str, first: int) -> tuple[list[Value], list[str]]:
        """An operand in shared memory: its descriptor for each instruction, and how they name it."""
        facts = SmemOperand(*_integers(self._operation, f"{name}_operand"))
        address = self._builder.value("llvm.ptrtoint", (self._operation.operands[operand],), "i32")
        chunk = self._builder.value("llvm.lshr", (address, self._number("i32", 4)), "i32")
        place = self._builder.value("llvm.and", (chunk, self._number("i32", _ADDRESS_BITS)), "i32")
        distances = _integers(self._operation, name)
        unique = list(dict.fromkeys(distances))
        values = [self._descriptor(place, facts.descriptor(), each >> 4) for each in unique]
        return values, [f"${first + unique.index(each)}" for each in distances]

    def _descriptor(self, place: Value, constant: int, distance: int) -> Value:
        """The address and what is in the same word are added up in 32 bits: no sum has more than 14 of the address."""
        low = self._builder.value("llvm.add", (place, self._number("i32", (constant & _LOW) + distance)), "i32")
        wide = self._builder.value("llvm.zext", (low,), "i64")
        return self._builder.value("llvm.or", (wide, self._number("i64", constant & ~_LOW)), "i64")

    # waits and fences ---------------------------------------------------------------------------------------------
    def _pass_through(self, text: str, changed: Sequence[_Registers], read: Sequence[_Registers]) -> None:
        values = [self._load(each) for each in changed]
        taken = [value for each in read for value in self._load(each)]
        kinds = [each.kind for each, some in zip(changed, values, strict=True) for _ in some]
        constraints = (
            [f"={_LETTERS[kind]}" for kind in kinds] + ["r"] * len(taken) + [str(i) for i in range(len(kinds))]
        )
        given = self._inline(text, constraints, [*taken, *(value for some in values for value in some)], kinds)
        for each, some in zip(changed, values, strict=True):
            self._store(each, given[: len(some)])
            given = given[len(some) :]

    # registers ----------------------------------------------------------------------------------------------------
    def _inline(
        self, text: str, constraints: Sequence[str], operands: Sequence[Value], kinds: Sequence[str]
    ) -> list[Value]:
        """Inline PTX with these results; its text has `.aligned`, so that LLVM is told not to duplicate it."""
        builder = self._builder
        attributes = {
            "asm_string": builder.string(text),
            "constraints": builder.string(",".join([*constraints, "~{memory}"])),
            "has_side_effects": builder.attribute("unit"),
        }
        if len(kinds) < 2:
            return list(builder.operation("llvm.inline_asm", operands, kinds, attributes).results)
        made = builder.value("llvm.inline_asm", operands, _struct(kinds), attributes)
        places = ({"position": builder.attribute(f"array<i64: {i}>")} for i in range(len(kinds)))
        return [
            builder.value("llvm.extractvalue", (made,), kind, place) for kind, place in zip(kinds, places, strict=True)
        ]

    def _load(self, registers: _Registers) -> list[Value]:
        return [
            self._builder.value("llvm.load", (self._address(registers, offset),), registers.kind, self._memory)
            for offset in registers.offsets
        ]

    def _store(self, registers: _Registers, values: Sequence[Value]) -> None:
        for value, offset in zip(values, registers.offsets, strict=True):
            operands = (value, self._address(registers, offset))
            self._builder.operation("llvm.store", operands, (), self._memory)

    def _address(self, registers: _Registers, offset: int) -> Value:
        known = self._addresses.get((registers.base, offset))
        if known is None:
            attributes = {
                "elem_type": registers.element,
                "rawConstantIndices": self._builder.attribute(f"array<i32: {offset}>"),
            }
            known = self._builder.value("llvm.getelementptr", (registers.base,), "!llvm.ptr", attributes)
            self._addresses[registers.base, offset] = known
        return known

    def _number(self, kind: str, value: int) -> Value:
        return self._builder.value("llvm.mlir.constant", (), kind, {"value": self._builder.integer(kind, value)})


def _struct(kinds: Sequence[str]) -> str:
    """A struct with a name, which says its fields: LLVM's text would repeat 128 of them on every line that takes one
    out. A dot in the name would have every such line read for literals."""
    name = "_".join(f"{kind}x{len(list(same))}" for kind, same in groupby(kinds))
    return f'!llvm.struct<"registers_{name}", ({", ".join(kinds)})>'


def _text(
    operation: Operation, instruction: WarpgroupMma, count: int, a: Sequence[str], b: Sequence[str], accumulate: str
) -> str:
    """All instructions of a product: only those of the first k may begin with zero."""
    m_tiles, n_tiles, k_tiles = _integers(operation, "tiles")
    each = count // (m_tiles * n_tiles)
    tail = _tail(operation, instruction)
    lines = []
    for k in range(k_tiles):
        for n in range(n_tiles):
            for m in range(m_tiles):
                first = (m + m_tiles * n) * each
                sums = ", ".join(f"${first + i}" for i in range(each))
                begins = accumulate if k == 0 else "yes"
                operands = f"{{{sums}}}, {a[m + m_tiles * k]}, {b[n + n_tiles * k]}, {begins}{tail}"
                lines.append(f"wgmma.mma_async.sync.aligned.{instruction.name} {operands};")
    body = "\n\t".join(lines)
    return f"{{ .reg .pred yes; setp.ne.b32 yes, 1, 0;\n\t{body} }}" if k_tiles > 1 else body


def _tail(operation: Operation, instruction: WarpgroupMma) -> str:
    """Signs of the factors, and which of them are transposed."""
    if instruction.accumulator == "s32":
        return ""
    if not instruction.transposes:
        return ", 1, 1"
    majors = [facts[0] for facts in (_integers(operation, f"{name}_operand") for name in "ab") if facts]
    return f", 1, 1, {', '.join(map(str, majors))}"


def _is_shared(product: Operation) -> bool:
    return memory_space(product.operands[1].type) == SHARED_SPACE


def _sums(product: Operation) -> _Registers:
    instruction = WARPGROUP_MMAS[product.attributes["instruction"].value]
    return _registers(product, 0, "d", "f32" if instruction.accumulator == "f32" else "i32")


def _of_a(product: Operation) -> _Registers:
    return _registers(product, 1, "a", "i32")


def _registers(product: Operation, operand: int, name: str, kind: str) -> _Registers:
    base = product.operands[operand]
    return _Registers(base, producer(base).attributes["elem_type"], kind, tuple(_integers(product, name)))


def _merged(registers: Sequence[_Registers]) -> list[_Registers]:
    """Each register once."""
    merged: dict[Value, _Registers] = {}
    for each in registers:
        known = merged.get(each.base)
        more = each.offsets if known is None else tuple(dict.fromkeys((*known.offsets, *each.offsets)))
        merged[each.base] = _Registers(each.base, each.element, each.kind, more)
    return list(merged.values())


def _integers(operation: Operation, name: str) -> list[int]:
    return list(bindings.mlir().DenseI64ArrayAttr(operation.attributes[name]))


# WGMMAs in flight -----------------------------------------------------------------------------------------------------
# A forward and a backward walk over the blocks of a kernel, until nothing changes. Of each product it is kept how many
# groups have been closed since, at least: a wait that leaves `n` groups ends those with more than `n`.
@dataclass(slots=True)
class InFlight:
    """The answer for one kernel."""

    waited: dict[Operation, list[Operation]] = field(default_factory=dict)
    """By wait, the products that may be unfinished when it begins."""
    fenced: dict[Operation, list[Operation]] = field(default_factory=dict)
    """By fence, the products that may come after it without another fence between."""


def wgmma_in_flight(kernel: Operation) -> InFlight:
    """Of a function of LLVM."""
    blocks = list(kernel.regions[0].blocks)
    numbers = {block: number for number, block in enumerate(blocks)}
    contents = [_contents(block) for block in blocks]
    after = [[numbers[successor] for successor in _terminator(block).successors] for block in blocks]
    before: list[list[int]] = [[] for _ in blocks]
    for number, successors in enumerate(after):
        for successor in successors:
            before[successor].append(number)
    found = InFlight()
    _solved(contents, before, after, lambda state, operation: _run(state, operation, found))
    reversed_contents = [list(reversed(each)) for each in contents]
    _solved(reversed_contents, after, before, lambda state, operation: _run_back(state, operation, found))
    return found


def _contents(block: Block) -> list[Operation]:
    return [operation.operation for operation in block.operations if operation.operation.name in WGMMA_STEPS]


def _terminator(block: Block) -> Operation:
    *_, last = block.operations
    return last.operation


def _solved(
    contents: list[list[Operation]],
    sources: list[list[int]],
    targets: list[list[int]],
    step: Callable[[_State, Operation], _State],
) -> list[_State]:
    """The state at the end of every block."""
    ends: list[_State] = [{} for _ in contents]
    waiting = list(range(len(contents)))
    while waiting:
        block = waiting.pop(0)
        state = _joined([ends[source] for source in sources[block]])
        for operation in contents[block]:
            state = step(state, operation)
        if state != ends[block]:
            ends[block] = state
            waiting += [target for target in targets[block] if target not in waiting]
    return ends


def _joined(states: list[_State]) -> _State:
    joined: _State = {}
    for state in states:
        for product, groups in state.items():
            joined[product] = min(groups, joined.get(product, groups))
    return joined


def _run(state: Mapping[Operation, int], operation: Operation, found: InFlight) -> _State:
    match WGMMA_STEPS[operation.name]:
        case WgmmaStep.BEGIN:
            return {**state, operation: 0}
        case WgmmaStep.COMMIT:
            return {product: min(groups + 1, _MOST_GROUPS) for product, groups in state.items()}
        case WgmmaStep.WAIT:
            found.waited[operation] = list(state)
            left = operation.attributes["groups"].value
            return {product: groups for product, groups in state.items() if groups <= left}
    return dict(state)


def _run_back(state: Mapping[Operation, int], operation: Operation, found: InFlight) -> _State:
    match WGMMA_STEPS[operation.name]:
        case WgmmaStep.BEGIN:
            return {**state, operation: 0}
        case WgmmaStep.FENCE:
            found.fenced[operation] = list(state)
            return {}
    return dict(state)

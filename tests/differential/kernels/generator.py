"""The kernel generator: `Choices -> KernelProgram`, helper functions, a kernel and its launch.

`generate(RandomChoices(seed))` is the program of a seed.
"""

from __future__ import annotations

import re
from math import gcd

from tests.differential.choices import Choices
from tests.differential.kernels.expressions import Expressions
from tests.differential.kernels.launch import Launch, choose_launch
from tests.differential.kernels.program import Buffer, KernelProgram
from tests.differential.kernels.scope import (
    INTEGERS,
    LIMITS,
    NUMBERS,
    Counter,
    Helper,
    Kind,
    Level,
    Memory,
    Names,
    Output,
    Scope,
    Tensor,
    Variable,
)
from tests.differential.kernels.statements import Statements

USUAL = 14
SMALL = 7
"""Statements of a kernel; fewer for Hypothesis, whose every draw costs and whose examples are limited in length."""

BOUNDS = {Kind.INT8: 2**7, Kind.INT32: 2**31, Kind.INT64: 2**63}
COUNTED = (Kind.INT32, Kind.UINT32, Kind.INT64)
SCALARS = (0, 1, -1, 2, 3, 5, 7, 31, 32, 33, 100, -100, 1000, 2**31 - 1)

DECORATORS = ("@kernel", "@kernel(contract=False)", "@kernel(contract=True)")
"""Floats of generated kernels are exact, so that contraction changes nothing."""


def generate(choices: Choices, statements: int = USUAL) -> KernelProgram:
    """Make the program that these decisions describe."""
    launch = choose_launch(choices)
    kinds = [Kind.INT32, *(choices.choice((*NUMBERS, Kind.BOOL)) for _ in choices.several(3, 0.8))]
    helpers = [_helper(choices, f"help{number}", launch, kinds) for number in choices.several(2, 0.3)]
    memory, buffers = _memory(choices, launch, kinds)
    scalars = tuple(f"n{number}" for number in choices.several(3, 0.7))
    body = _kernel(choices, launch, kinds, memory, [helper for _, helper in helpers], scalars, statements)
    calls = tuple(tuple(choices.choice(SCALARS) for _ in scalars) for _ in range(2))
    decorator = choices.choice(DECORATORS)
    parameters = [*(f"{buffer.name}: cute.Tensor" for buffer in buffers), *(f"{name}: Int32" for name in scalars)]
    kernel = "\n".join((decorator, f"def fuzzed({', '.join(parameters)}):", *body))
    host = _host(launch, [*(buffer.name for buffer in buffers), *scalars], parameters)
    text = "\n\n\n".join([*(text for text, _ in helpers), kernel, host]) + "\n"
    return KernelProgram(text, launch.grid, launch.block, launch.is_dynamic, tuple(buffers), scalars, calls)


def _host(launch: Launch, names: list[str], parameters: list[str]) -> str:
    grid, block = map(repr, (launch.grid, launch.block))
    if launch.is_dynamic:
        sizes = [f"{of}{axis}" for of in "gb" for axis in "xyz"]
        parameters = [*parameters, *(f"{name}: Int32" for name in sizes)]
        grid, block = f"({', '.join(sizes[:3])})", f"({', '.join(sizes[3:])})"
    launched = f"    fuzzed({', '.join(names)}).launch(grid={grid}, block={block})"
    return "\n".join(("@jit", f"def launch({', '.join(parameters)}):", launched))


def _helper(choices: Choices, name: str, launch: Launch, kinds: list[Kind]) -> tuple[str, Helper]:
    """A function that only computes."""
    numbers = [kind for kind in kinds if kind in NUMBERS]
    taken = tuple(choices.choice(numbers) for _ in range(choices.integer(1, 2)))
    result = choices.choice(numbers)
    names, memory, scope = Names(), Memory(), Scope()
    variables = [Variable(kind, Level.THREAD) for kind in taken]
    parameters = {names.fresh(variable): variable for variable in variables}
    scope.variables.update(parameters)
    expressions = Expressions(choices, launch, memory, ())
    writer = Statements(choices, names, launch, memory, expressions, kinds, 3, result)
    if not writer.block(scope):
        writer.finish(scope)
    return "\n".join((f"def {name}({', '.join(parameters)}):", *writer.lines)), Helper(name, taken, result)


# -- memory


def _memory(choices: Choices, launch: Launch, kinds: list[Kind]) -> tuple[Memory, list[Buffer]]:
    memory, buffers = Memory(), []
    numbers = [kind for kind in kinds if kind in NUMBERS]
    for number in choices.several(3, 0.7):
        kind = choices.choice(numbers)
        size = choices.choice((launch.total + 3, 5, 64, 2 * launch.total, 3 * launch.total + 3))
        shape = (choices.integer(2, 9), choices.choice((1, 3, 8, 33))) if choices.boolean(0.3) else (size,)
        memory.inputs.append(Tensor(f"a{number}", kind, shape))
        values = tuple(_number(choices, kind) for _ in range(choices.integer(3, 12)))
        buffers.append(Buffer(f"a{number}", kind.value, shape, values))
    for number, kind in enumerate((Kind.INT64, *(choices.choice(numbers) for _ in choices.several(2, 0.6)))):
        cell = "gid" if number == 0 else _own_cell(choices, launch.total)
        memory.outputs.append(Output(Tensor(f"o{number}", kind, (launch.total,)), cell))
        buffers.append(Buffer(f"o{number}", kind.value, (launch.total,), (0, 1, 2)))
    for number in choices.several(2, 0.4):
        kind, size = choices.choice([kind for kind in numbers if kind in COUNTED]), choices.integer(1, 8)
        name = choices.choice(("add", "max", "min", "and", "or", "xor"))
        memory.counters.append(Counter(Tensor(f"n_{name}{number}", kind, (size,)), f"atomic_{name}"))
        buffers.append(Buffer(f"n_{name}{number}", kind.value, (size,), (0, 7)))
    for number in choices.several(2, 0.45):
        memory.registers.append(Tensor(f"r{number}", choices.choice(numbers), (choices.choice((4, 1, 3, 8)),)))
    for number in choices.several(2, 0.5):
        size = launch.threads + choices.choice((0, 0, 1, 5))
        memory.shared[Tensor(f"s{number}", choices.choice(numbers), (size,))] = None
    return memory, buffers


def _own_cell(choices: Choices, total: int) -> str:
    factor = choices.choice([n for n in (1, 3, 7, 11) if gcd(n, total) == 1])
    return choices.choice(("gid", f"{total - 1} - gid", f"(gid * {factor} + {choices.integer(0, 9)}) % {total}"))


def _number(choices: Choices, kind: Kind) -> int | float:
    if kind in INTEGERS and choices.boolean(0.2):
        bound = BOUNDS.get(kind, 0)
        return choices.choice((-bound, bound - 1)) if bound else 2**32 - 1
    lowest = 0 if kind is Kind.UINT32 else -9
    value = choices.integer(lowest, 40)
    return float(value) if kind in LIMITS else value


# -- the kernel


def _kernel(
    choices: Choices,
    launch: Launch,
    kinds: list[Kind],
    memory: Memory,
    helpers: list[Helper],
    scalars: tuple[str, ...],
    statements: int,
) -> list[str]:
    scope, names = Scope(), Names()
    identity = _identity(launch, scope)
    for name in scalars:
        scope.freeze(**{name: Variable(Kind.INT32, Level.BLOCK)})
    expressions = Expressions(choices, launch, Memory(memory.inputs), helpers)
    lines = _allocations(choices, launch, memory, expressions, scope)
    expressions = Expressions(choices, launch, memory, helpers)
    writer = Statements(choices, names, launch, memory, expressions, kinds, statements)
    writer.start(scope)
    ended = writer.block(scope)
    lines += [*writer.lines, *([] if ended else _digest(scope, memory))]
    for line in reversed(identity):
        if re.search(rf"\b({line.partition(' = ')[0].replace(', ', '|')})\b", "\n".join(lines)):
            lines.insert(0, f"    {line}")
    return lines or ["    pass"]


def _identity(launch: Launch, scope: Scope) -> list[str]:
    """Which thread this is: lines of which the kernel takes those that it needs."""
    block = ["dx", "bid", *(f"b{axis}" for axis, extent in zip("xyz", launch.grid, strict=True) if extent > 1)]
    thread = [f"t{axis}" for axis, extent in zip("xyz", launch.block, strict=True) if extent > 1]
    for level, names in ((Level.BLOCK, block), (Level.WARP, ["warp"]), (Level.THREAD, ["tid", "gid", "lane", *thread])):
        scope.freeze(**dict.fromkeys(names, Variable(Kind.INT32, level)))
    lines = [
        "tx, ty, tz = cute.arch.thread_idx()",
        "bx, by, bz = cute.arch.block_idx()",
        "dx, dy, dz = cute.arch.block_dim()",
        "gx, gy, gz = cute.arch.grid_dim()",
        "tid = tx + dx * (ty + dy * tz)" if launch.block[1:] != (1, 1) else "tid = tx",
        "bid = bx + gx * (by + gy * bz)" if launch.grid[1:] != (1, 1) else "bid = bx",
        f"gid = bid * {launch.threads} + tid",
        "lane = cute.arch.lane_idx()",
        "warp = cute.arch.warp_idx()",
    ]
    if not launch.has_whole_warps:
        lines.append(f"lanes = min({launch.threads} - warp * 32, 32)")
        scope.freeze(lanes=Variable(Kind.INT32, Level.WARP))
    return lines


def _allocations(choices: Choices, launch: Launch, memory: Memory, expressions: Expressions, scope: Scope) -> list[str]:
    """Registers and shared memory, every cell of which gets a value."""
    lines: list[str] = []
    for tensor in memory.registers:
        size, kind = tensor.shape[0], tensor.kind
        lines.append(f"{tensor.name} = cute.make_rmem_tensor({size}, {kind.value})")
        if choices.boolean(0.5):
            lines.append(f"{tensor.name}.fill({expressions.fitted(kind, scope, 1, Level.THREAD)})")
        else:
            lines.append(f"for at in {choices.choice(('range', 'range_constexpr'))}({size}):")
            lines.append(f"    {tensor.name}[at] = {expressions.fitted(kind, scope, 2, Level.THREAD)}")
    if memory.shared:
        lines.append("allocator = SmemAllocator()")
    for tensor in memory.shared:
        lines.append(
            f"{tensor.name} = allocator.allocate_tensor({tensor.kind.value}, cute.make_layout({tensor.shape[0]}))"
        )
    for tensor in memory.shared:
        lines.append(f"for at in range(tid, {tensor.shape[0]}, {launch.threads}):")
        lines.append(f"    {tensor.name}[at] = {expressions.fitted(tensor.kind, scope, 2, Level.THREAD)}")
    if memory.shared:
        lines.append("cute.arch.sync_threads()")
    return [f"    {line}" for line in lines]


def _digest(scope: Scope, memory: Memory) -> list[str]:
    """Everything that the thread has computed, in one number."""
    computed = {name: its for name, its in scope.variables.items() if name not in scope.frozen}
    parts = [
        f"(Int64(1) if {name} else Int64(0))" if its.kind is Kind.BOOL else f"Int64({name})"
        for name, its in computed.items()
    ]
    parts += [f"Int64({tensor.name}[{at}])" for tensor in memory.registers for at in range(tensor.shape[0])]
    parts += [f"Int64({tensor.name}[{cell or 'tid'}])" for tensor, cell in memory.shared.items()]
    lines = ["digest = Int64(0)", *(f"digest = digest * 31 + {part}" for part in parts)]
    lines.append("o0[gid] = o0[gid] ^ digest")
    return [f"    {line}" for line in lines]

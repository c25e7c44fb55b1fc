"""WGMMA instructions, which four warps compute together while they go on, by NVIDIA's manual.

A product is computed when it is waited for. Until then its sums are marks that name it: a `mov` carries a mark along,
as the assembler lets registers change their names; everything else finds nonsense in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.conversions import Mask, Numbers
from triptych.ptxsim.matrices import FACTORS, GROUP, PLACE, SUMS
from triptych.ptxsim.operands import WARP, BlockState, listed
from triptych.ptxsim.reading import Instruction
from triptych.ptxsim.smem_matrices import wgmma_matrix

THREADS = 4 * WARP
_MARK, _MARK_BITS = 0x5A5, 20
_DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1}
_ROW = 16 * (np.arange(THREADS) // WARP) + np.tile(GROUP, 4)
_PLACE = np.tile(PLACE, 4)


class ProductError(Exception):
    """What WGMMA forbids."""


class RegisterCountError(Exception):
    """Warps of one warpgroup that ask for different numbers of registers."""


# operands in shared memory ----------------------------------------------------------------------------------------
def _operand(block: BlockState, descriptor: int, rows: int, kind: str, is_transposed: bool, what: str) -> Any:
    size, depth = _BYTES[kind], _DEPTH[kind]
    places = wgmma_matrix(descriptor).places(rows, depth, size, is_transposed=is_transposed)
    room = block.rooms["shared"]
    data = room.read(room.base + (places[..., None] + np.arange(size)).reshape(-1), what)
    return _cut(data.view(np.uint32) if kind == "tf32" else data, kind).reshape(rows, depth)


def _cut(data: Numbers, kind: str) -> Any:
    """Elements of a type; of tf32 the lower bits are not looked at."""
    if kind == "tf32":
        data = data.view(np.uint32) & np.uint32(0xFFFFE000)
    return np.ascontiguousarray(data).view(FACTORS[kind])


# fragments --------------------------------------------------------------------------------------------------------
def _left(words: list[Any], kind: str) -> Any:
    """A from registers: four `m16` tiles, one below the other."""
    matrix = np.zeros((64, _DEPTH[kind]), FACTORS[kind])
    for number, word in enumerate(words):
        elements = _cut(word, kind).reshape(THREADS, -1)
        each = elements.shape[1]
        columns = each * _PLACE[:, None] + 4 * each * (number // 2) + np.arange(each)
        matrix[(_ROW + 8 * (number % 2))[:, None], columns] = elements
    return matrix


def _sum_places(number: int, each: int) -> tuple[Any, Any]:
    """Rows and columns of the elements of a register of sums."""
    if each == 2:
        return (_ROW + 8 * (number % 2))[:, None], 8 * (number // 2) + 2 * _PLACE[:, None] + np.arange(2)
    return (_ROW + 8 * (number // 2 % 2))[:, None], (8 * (number // 4) + 2 * _PLACE + number % 2)[:, None]


# products ---------------------------------------------------------------------------------------------------------
@dataclass(slots=True, eq=False)
class Wgmma:
    """One `wgmma.mma_async` of a warpgroup."""

    what: str
    compute: Callable[[list[Any]], list[Any]]
    """The registers of the sums, from what they were."""
    sums: list[Any]
    """What they were: words, or another product and a number among its sums."""
    is_unchanged: Callable[[], bool]
    """The registers of A are as they were."""
    result: list[Any] = field(default_factory=list)

    def run(self) -> None:
        if not self.result:
            before = [each[0].result[each[1]] if isinstance(each, tuple) else each for each in self.sums]
            self.result = self.compute(before)

    def finish(self) -> None:
        if not self.is_unchanged():
            raise ProductError(f"{self.what}: a register of A was written while the product was under way")
        self.run()


class WgmmaQueue:
    """Those of a block's warpgroups, and what its registers were written by."""

    def __init__(self, block: BlockState) -> None:
        self._block = block
        self._written: dict[str, Any] = {}
        """For each register and warp, after how many fences it was last written by an ordinary instruction."""
        self._next = 0
        self.start()

    def start(self) -> None:
        """A new block begins."""
        groups = -(-self._block.threads // THREADS)
        self._fences = np.zeros(-(-self._block.threads // WARP), np.int64)
        self._open: list[list[Wgmma]] = [[] for _ in range(groups)]
        self._closed: list[list[list[Wgmma]]] = [[] for _ in range(groups)]
        self._marks: dict[int, tuple[Wgmma, int]] = {}

    # registers -----------------------------------------------------------------------------------------------------
    def _warps(self, mask: Mask) -> Any:
        return np.logical_or.reduceat(mask, np.arange(0, len(mask), WARP))

    def wrote(self, name: str, mask: Mask) -> None:
        """An ordinary instruction is about to write a register."""
        warps = self._warps(mask)
        if name not in self._written:
            self._written[name] = np.full(len(self._fences), -1)
        np.copyto(self._written[name], self._fences, where=warps)

    def moved(self, name: str, source: str, mask: Mask) -> None:
        """A `mov` changes nothing but the name; a constant may come from anywhere."""
        before = self._written.get(source)
        if name in self._written:
            np.copyto(self._written[name], -1 if before is None else before, where=self._warps(mask))
        elif before is not None:
            self._written[name] = np.where(self._warps(mask), before, -1)

    def _check_fence(self, what: str, names: list[str], first: int) -> None:
        warps = slice(first // WARP, first // WARP + 4)
        if (self._fences[warps] == 0).any():
            raise ProductError(f"{what}: there was no wgmma.fence")
        for name in names:
            if name in self._written and (self._written[name][warps] == self._fences[warps]).any():
                raise ProductError(f"{what}: register {name} was written, and no wgmma.fence since")

    # the instructions ----------------------------------------------------------------------------------------------
    def fence(self, mask: Mask) -> None:
        self._fences += self._warps(mask)

    def commit(self, mask: Mask) -> None:
        for group in np.flatnonzero(mask[::THREADS]):
            self._closed[group].append(self._open[group])
            self._open[group] = []

    def wait(self, mask: Mask, left: int) -> None:
        for group in np.flatnonzero(mask[::THREADS]):
            closed = self._closed[group]
            count = max(len(closed) - left, 0)
            done = [product for products in closed[:count] for product in products]
            for product in done:
                product.finish()
            self._land(int(group), set(done))
            del closed[:count]

    def _land(self, group: int, done: set[Wgmma]) -> None:
        """Every register that has a mark of them gets what it stands for."""
        if not done:
            return
        threads = slice(group * THREADS, (group + 1) * THREADS)
        for array in self._block.registers.words():
            here = array[threads]
            marked = here >> np.uint32(_MARK_BITS) == _MARK
            for mark in np.unique(here[marked]).tolist() if marked.any() else ():
                product, number = self._marks.get(mark, (None, 0))
                if product in done and product is not None:
                    np.copyto(here, product.result[number], where=here == np.uint32(mark))
        self._marks = {mark: found for mark, found in self._marks.items() if found[0] not in done}

    def issue(self, first: int, product: Wgmma, sums: list[Any], is_early: bool) -> None:
        """From now on the sums are marks."""
        threads = slice(first, first + THREADS)
        for number, array in enumerate(sums):
            self._next = (self._next + 1) % (1 << _MARK_BITS)
            mark = _MARK << _MARK_BITS | self._next
            self._marks[mark] = product, number
            array[threads] = mark
        self._open[first // THREADS].append(product)
        if is_early:
            product.run()

    def before(self, array: Numbers, first: int) -> Any:
        """What a register of sums is: numbers, or a sum of a product that is under way."""
        words = array[first : first + THREADS]
        return self._marks.get(int(words[0])) or words.copy()


class RegisterCounts:
    """How many registers the warps of a block have asked for. Each asks for itself; those of a warpgroup ask alike."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self.start()

    def start(self) -> None:
        """A new block begins."""
        self._asked: list[list[int]] = [[] for _ in range(0, self._threads, WARP)]

    def asking(self, instruction: Instruction) -> Callable[[Mask], None]:
        """What whole warps do."""
        words, count = instruction.modifiers, int(instruction.operands[0])
        if words[0] not in ("inc", "dec") or words[1:] != ("sync", "aligned", "u32") or not 24 <= count <= 256:
            raise UnknownInstructionError(str(instruction))
        if count % 8:
            raise UnknownInstructionError(f"{instruction}: {count} is no multiple of 8")

        def ask(mask: Mask) -> None:
            for warp in np.flatnonzero(mask[::WARP]):
                self._asked[warp].append(count)

        return ask

    def end(self) -> None:
        """The block is over."""
        for first in range(0, len(self._asked), THREADS // WARP):
            counts = self._asked[first : first + THREADS // WARP]
            if any(each != counts[0] for each in counts):
                raise RegisterCountError(f"setmaxnreg: warps {first} and following of one warpgroup asked for {counts}")


def warpgroup_instruction(block: BlockState, instruction: Instruction) -> Callable[[Any], None]:
    """What a whole warpgroup does."""
    words = instruction.modifiers
    products: WgmmaQueue = block.products
    if words == ("fence", "sync", "aligned"):
        return products.fence
    if words == ("commit_group", "sync", "aligned"):
        return products.commit
    if words == ("wait_group", "sync", "aligned"):
        left = int(instruction.operands[0])
        return lambda mask: products.wait(mask, left)
    if words[:3] == ("mma_async", "sync", "aligned"):
        return _product(block, instruction)
    raise UnknownInstructionError(str(instruction))


@dataclass(frozen=True, slots=True)
class _Form:
    """What the words and operands of `wgmma.mma_async` say."""

    columns: int
    sum: str
    left: str
    right: str
    saturates: bool
    negated: tuple[bool, bool]
    transposed: tuple[bool, bool]
    """Of A and B."""


def _form(instruction: Instruction) -> _Form:
    unknown = UnknownInstructionError(str(instruction))
    shape, *types = instruction.modifiers[3:]
    saturates = types[-1] == "satfinite"
    types = types[:-1] if saturates else types
    found = re.fullmatch(r"m64n(\d+)k(\d+)", shape)
    if found is None or len(types) != 3:
        raise unknown
    total, left, right = types
    columns = int(found[1])
    wholes = total == "s32"
    allowed = {"s32": ("s8", "u8"), "f16": ("f16", "e4m3", "e5m2"), "f32": ("f16", "bf16", "tf32", "e4m3", "e5m2")}
    kinds = allowed.get(total, ())
    if left not in kinds or right not in kinds or int(found[2]) != _DEPTH[left] or (saturates and not wholes):
        raise unknown
    if (left != right and left in ("f16", "bf16", "tf32")) or _DEPTH[left] != _DEPTH[right]:
        raise unknown
    if columns % 8 or not 8 <= columns <= 256 or (wholes and columns > 32 and columns % 16):
        raise unknown
    in_registers = instruction.operands[1].startswith("{")
    tail = [int(each) for each in instruction.operands[4:]]
    flags = 0 if _BYTES[left] != 2 else 1 if in_registers else 2
    if len(tail) != (0 if wholes else 2 + flags) or any(each not in (1, -1) for each in tail[:2]):
        raise unknown
    transposed = [False] * (2 - flags) + [bool(each) for each in tail[2:]]
    negated = [each == -1 for each in tail[:2]] or [False, False]
    return _Form(columns, total, left, right, saturates, (negated[0], negated[1]), (transposed[0], transposed[1]))


def _product(block: BlockState, instruction: Instruction) -> Callable[[Any], None]:
    form = _form(instruction)
    to, left, right, scale = instruction.operands[:4]
    registers, what = block.registers, str(instruction)
    names, factors = listed(to), listed(left)
    each = 4 // np.dtype(SUMS[form.sum]).itemsize
    if len(names) != 64 * form.columns // THREADS // each or (left.startswith("{") and len(factors) != 4):
        raise UnknownInstructionError(what)
    sums = [registers.array(name) for name in names]
    is_held = left.startswith("{")
    a_words = [registers.reader(part, "b32" if is_held else "b64") for part in factors]
    b_word, accumulates = registers.reader(right, "b64"), registers.reader(scale, "pred")

    def issue(first: int) -> None:
        products: WgmmaQueue = block.products
        products._check_fence(what, [*names, *(factors if is_held else [])], first)
        threads = slice(first, first + THREADS)
        held = [read()[threads].copy() for read in a_words]
        descriptor, adds = b_word()[threads].copy(), accumulates()[threads].copy()
        if any((word != word[0]).any() for word in (*([] if is_held else held), descriptor, adds)):
            raise ProductError(f"{what}: the threads of the warpgroup do not agree on the operands")

        def is_unchanged() -> bool:
            return not is_held or all((read()[threads] == word).all() for read, word in zip(a_words, held, strict=True))

        def compute(before: list[Any]) -> list[Any]:
            a = _left(held, form.left) if is_held else _shared_left(block, int(held[0][0]), form, what)
            b = _operand(block, int(descriptor[0]), form.columns, form.right, form.transposed[1], what)
            return _summed(form, a, b, before if adds[0] else None)

        before = [products.before(array, first) for array in sums]
        is_early = block.gpu.order == "early"
        products.issue(first, Wgmma(what, compute, before, is_unchanged), sums, is_early)

    def run(mask: Mask) -> None:
        for first in range(0, block.threads, THREADS):
            if mask[first]:
                issue(first)

    return run


def _shared_left(block: BlockState, descriptor: int, form: _Form, what: str) -> Any:
    return _operand(block, descriptor, 64, form.left, form.transposed[0], what)


def _summed(form: _Form, a: Numbers, b: Numbers, before: list[Any] | None) -> list[Any]:
    """Products are added up in double precision and rounded once; a GPU rounds in between."""
    wide = np.int64 if form.sum == "s32" else np.float64
    kind = np.dtype(SUMS[form.sum])
    each = 4 // kind.itemsize
    signs = [-1 if negated else 1 for negated in form.negated]
    with np.errstate(all="ignore"):
        total = (signs[0] * a.astype(wide)) @ (signs[1] * b.astype(wide)).T
        for number, words in enumerate(before or ()):
            total[_sum_places(number, each)] += words.view(kind).reshape(THREADS, -1).astype(wide)
        if form.saturates:
            total = np.clip(total, -(2**31), 2**31 - 1)
        result = total.astype(kind)
    count = 64 * form.columns // THREADS // each
    parts = [np.ascontiguousarray(result[_sum_places(number, each)]) for number in range(count)]
    return [part.view(np.uint32).reshape(THREADS) for part in parts]

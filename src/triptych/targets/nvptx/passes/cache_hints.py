"""Passes `lower-cache-hints`, `vectorize-hinted-accesses`: accesses with hints for caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from triptych.ir.builder import Builder, builder_before
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Module, Operation, Type, Value
from triptych.ir.location import place_of
from triptych.ir.modules import kernels, operations_named
from triptych.ir.types import (
    CLUSTER_SPACE,
    GENERIC_SPACE,
    GLOBAL_SPACE,
    SHARED_SPACE,
    TypeOrText,
    bits_of,
    element_type,
    is_vector,
    lanes,
    memory_space,
)
from triptych.kernel_ir.analysis.addresses import AddressForms, private_place
from triptych.kernel_ir.dialects.kernel_operations import is_pure, operations
from triptych.kernel_ir.dialects.simt import PREFETCH
from triptych.objectstage.device_errors import AssemblerError, MissingToolError
from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.description.instructions import CACHE, ORDER
from triptych.targets.nvptx.toolchain.assembler import ptx_version
from triptych.targets.nvptx.toolchain.assembling import find_assembler

# Pass `lower-cache-hints`: accesses with hints for caches, or ordered with those of other threads, become inline PTX.
#
# LLVM has no words for them: it drops `nontemporal`, and refuses atomic accesses of vectors. It has one for
# prefetching, which it does not know on GPUs before sm_90.

_REGISTERS = {"i16": "h", "i32": "r", "i64": "l"}
_VOLATILE = "volatile_"
_SPACES: dict[int | None, str] = {GLOBAL_SPACE: ".global", SHARED_SPACE: ".shared", GENERIC_SPACE: ""}
_SPACES |= {CLUSTER_SPACE: ".shared::cluster"}


def lower_cache_hints(module: Module) -> bool:
    """Replace the loads and stores of kernels that have hints; whether there are any."""
    hinted = [
        operation
        for kernel in kernels(module)
        for operation in operations_named(kernel, "llvm.load", "llvm.store", PREFETCH)
        if operation.name == PREFETCH or CACHE in operation.attributes or ORDER in operation.attributes
    ]
    for operation in hinted:
        if operation.name == PREFETCH:
            _prefetch(operation)
        else:
            _replace(operation)
    return bool(hinted)


def _prefetch(operation: Operation) -> None:
    (address,) = operation.operands
    space = ".global" if memory_space(address.type) == GLOBAL_SPACE else ""
    builder = builder_before(operation)
    _inline(builder, f"prefetch{space}.L2 [$0];", "l", (address,), ())
    operation.erase()


def _inline(
    builder: Builder, text: str, constraints: str, operands: Sequence[Value], results: Sequence[str]
) -> Operation:
    """PTX that stays where it is among accesses of memory."""
    attributes = {
        "asm_string": builder.string(text),
        "constraints": builder.string(constraints + ",~{memory}"),
        "has_side_effects": builder.attribute("unit"),
    }
    return builder.operation("llvm.inline_asm", operands, results, attributes)


def _replace(operation: Operation) -> None:
    loads = operation.name == "llvm.load"
    value = operation.results[0] if loads else operation.operands[0]
    access = _HintedAccess(operation, value.type)
    if access.bits // 8 > operation.attributes["alignment"].value:
        return  # LLVM takes it apart; an ordered access has the alignment of its words
    if access.is_split and _order(operation)[0] == "mmio":
        raise LoweringError(
            "an access of memory-mapped registers moves one word",
            span=place_of(operation),
            found=f"{access.bits} bits with MemoryOrder.MMIO",
            expected="one element of at most 64 bits",
            instead="num_bits_per_copy of one element",
        )
    if loads:
        value.replace_all_uses_with(access.load(_ordered(operation, "ld")))
    else:
        access.store(_ordered(operation, "st"), value)
    operation.erase()


def _ordered(operation: Operation, instruction: str) -> str:
    """The instruction up to its type: with the order, the memory and the cache."""
    attributes = operation.attributes
    order, scope = _order(operation)
    space = _SPACES[memory_space(operation.operands[-1].type)]
    cache = attributes[CACHE].value if CACHE in attributes else ""
    if order == "volatile" or (not order and _VOLATILE in attributes):
        return f"{instruction}.volatile{space}"
    if order == "mmio":
        return f"{instruction}.mmio.relaxed.sys{space}"
    if order == "sc":
        order, fence = ("acquire" if instruction == "ld" else "relaxed"), f"fence.sc.{scope}; "
        return f"{fence}{instruction}.{order}.{scope}{space}{_only_priority(cache)}"
    if order and order != "constant":
        return f"{instruction}.{order}.{scope}{space}{_only_priority(cache)}"
    constant = ".nc" if order else ""
    return f"{instruction}{space}{constant}{'.' + cache if cache else ''}"


def _order(operation: Operation) -> tuple[str, str]:
    """The order of an access, and who sees it."""
    order, _, scope = (operation.attributes[ORDER].value if ORDER in operation.attributes else "").partition(".")
    return order, scope


def _only_priority(cache: str) -> str:
    """Ordered accesses choose no cache, but may say an eviction priority."""
    return f".{cache}" if cache.startswith("L1::") else ""


class _HintedAccess:
    """One access, as the registers that an instruction takes."""

    def __init__(self, operation: Operation, kind: Type) -> None:
        self._builder = builder_before(operation)
        self._address = operation.operands[0 if operation.name == "llvm.load" else 1]
        self._kind = kind
        self._count = lanes(kind) or 0
        self.bits = bits_of(kind)
        if self.bits > 32 and self._count:
            word = max(32, bits_of(element_type(kind)))
            self._word, self._words = f"i{word}", self.bits // word
        else:
            self._word, self._words = f"i{max(16, self.bits)}", 1

    @property
    def is_split(self) -> bool:
        """Whether it takes several registers."""
        return self._words > 1

    def load(self, instruction: str) -> Value:
        """The value, of the type that the operation has."""
        registers = "{" + ", ".join(f"${i}" for i in range(self._words)) + "}" if self._words > 1 else "$0"
        text = f"{instruction}{self._shape} {registers}, [${self._words}];"
        constraints = ",".join([f"={_REGISTERS[self._word]}"] * self._words + ["l"])
        result = self._word if self._words == 1 else f"!llvm.struct<({', '.join([self._word] * self._words)})>"
        made = self._asm(text, constraints, (self._address,), [result]).result
        words = [made] if self._words == 1 else [self._extracted(made, i) for i in range(self._words)]
        return self._from_words(words)

    def store(self, instruction: str, value: Value) -> None:
        registers = "{" + ", ".join(f"${i + 1}" for i in range(self._words)) + "}" if self._words > 1 else "$1"
        constraints = ",".join(["l"] + [_REGISTERS[self._word]] * self._words)
        text = f"{instruction}{self._shape} [$0], {registers};"
        self._asm(text, constraints, (self._address, *self._to_words(value)), ())

    @property
    def _shape(self) -> str:
        """How many registers of which size, in PTX: `.v4.b32`."""
        vector = f".v{self._words}" if self._words > 1 else ""
        return f"{vector}.b{self.bits // self._words}"

    def _from_words(self, words: list[Value]) -> Value:
        if not self._count:
            return self._cast(self._narrow(words[0]), self._kind)
        if self._words == 1:
            joined = self._value("vector.from_elements", (self._narrow(words[0]),), f"vector<1xi{self.bits}>")
        else:
            joined = self._value("vector.from_elements", words, f"vector<{self._words}x{self._word}>")
        return self._value("vector.bitcast", (joined,), self._kind)

    def _to_words(self, value: Value) -> list[Value]:
        plain = f"i{self.bits // self._words}"
        if not self._count:
            return [self._widened(self._cast(value, plain))]
        cast = self._value("vector.bitcast", (value,), f"vector<{self._words}x{plain}>")
        return [self._widened(self._element_of(cast, i, plain)) for i in range(self._words)]

    def _element_of(self, vector: Value, place: int, kind: str) -> Value:
        return self._value("vector.extract", (vector,), kind, {"static_position": f"array<i64: {place}>"})

    def _extracted(self, struct: Value, place: int) -> Value:
        return self._value("llvm.extractvalue", (struct,), self._word, {"position": f"array<i64: {place}>"})

    def _narrow(self, word: Value) -> Value:
        """A byte comes in a register of 16 bits."""
        return word if self.bits >= 16 else self._value("llvm.trunc", (word,), "i8")

    def _widened(self, value: Value) -> Value:
        return value if self.bits >= 16 else self._value("llvm.zext", (value,), "i16")

    def _cast(self, value: Value, kind: TypeOrText) -> Value:
        wanted = self._builder.type(kind)
        return value if value.type == wanted else self._value("llvm.bitcast", (value,), wanted)

    def _asm(self, text: str, constraints: str, operands: Sequence[Value], results: Sequence[str]) -> Operation:
        return _inline(self._builder, text, constraints, operands, results)

    def _value(
        self, name: str, operands: Sequence[Value], kind: TypeOrText, attributes: dict[str, str] | None = None
    ) -> Value:
        parsed = {key: self._builder.attribute(text) for key, text in (attributes or {}).items()}
        return self._builder.value(name, operands, kind, parsed)


# Pass `vectorize-hinted-accesses`: two accesses of 16 bytes with the same hints for caches become one of 32 bytes.
#
# Input: traced kernels for a GPU from sm_100 on. Output: the same kernels with wider accesses where the second follows
# the first in memory, nothing between them touches memory that other threads see, and the first is at a multiple of 32
# bytes. Accesses without hints LLVM joins by itself; those with an order stay as they are written.

_SINCE, _IN_PTX_SINCE = 100, 88
_HALF_BYTES = 16
_WORDS = _HALF_BYTES // 4
_ACCESSES = ("llvm.load", "llvm.store")
_HINTS = (CACHE, ORDER)
_UNORDERED = (None, "constant")


def joining(architecture: Architecture) -> Callable[[Module], bool]:
    """The pass for one architecture."""

    def vectorize_hinted_accesses(module: Module) -> bool:
        if architecture.generation < _SINCE or not _assembles(architecture):
            return False
        pairs = [pair for kernel in kernels(module) for pair in _pairs(kernel, AddressForms())]
        for first, second in pairs:
            _join(first, second)
        return bool(pairs)

    return vectorize_hinted_accesses


def _assembles(architecture: Architecture) -> bool:
    """Whether the assembler knows such accesses; where there is none, no code will be generated."""
    try:
        return ptx_version(find_assembler(), architecture) >= _IN_PTX_SINCE
    except (AssemblerError, MissingToolError):
        return False


@dataclass(frozen=True, slots=True)
class _NeighbouringAccess:
    """A load or a store, and what it has to share with another."""

    operation: Operation

    @property
    def loads(self) -> bool:
        return bool(self.operation.name == "llvm.load")

    @property
    def value(self) -> Value:
        return self.operation.results[0] if self.loads else self.operation.operands[0]

    @property
    def pointer(self) -> Value:
        return self.operation.operands[0 if self.loads else 1]

    @property
    def hints(self) -> tuple[str | None, ...]:
        attributes = self.operation.attributes
        return tuple(str(attributes[name].value) if name in attributes else None for name in _HINTS)

    @property
    def alike(self) -> tuple[object, ...]:
        """Equal for accesses that one instruction could be."""
        return self.operation.name, self.value.type, self.hints

    @property
    def alignment(self) -> int:
        return int(self.operation.attributes["alignment"].value)

    @property
    def is_half(self) -> bool:
        """Whether it is as wide as an instruction of older GPUs, with hints that leave its place to the compiler."""
        cache, order = self.hints
        is_hinted = (cache is not None or order is not None) and order in _UNORDERED
        return (
            is_hinted
            and _VOLATILE not in self.operation.attributes
            and is_vector(self.value.type)
            and bits_of(self.value.type) == 8 * _HALF_BYTES
        )


def _pairs(kernel: Operation, forms: AddressForms) -> Iterator[tuple[_NeighbouringAccess, _NeighbouringAccess]]:
    """Accesses that follow one another, in the program and in memory."""
    accesses = operations_named(kernel, *_ACCESSES)
    hinted = [access for access in accesses if any(hint in access.attributes for hint in _HINTS)]
    for block in dict.fromkeys(access.block for access in hinted):
        before: _NeighbouringAccess | None = None
        for operation in operations(block):
            access = _NeighbouringAccess(operation) if operation.name in _ACCESSES else None
            if access is not None and access.is_half:
                if before is not None and _continues(before, access, forms):
                    yield before, access
                    before = None
                else:
                    before = access
            elif not is_pure(operation) and (access is None or private_place(access.pointer) is None):
                before = None


def _continues(first: _NeighbouringAccess, second: _NeighbouringAccess, forms: AddressForms) -> bool:
    if first.alike != second.alike or first.alignment % (2 * _HALF_BYTES):
        return False
    here, there = forms.address(first.pointer), forms.address(second.pointer)
    return (here.memory, here.terms) == (there.memory, there.terms) and there.known - here.known == _HALF_BYTES


def _join(first: _NeighbouringAccess, second: _NeighbouringAccess) -> None:
    """A load stands where the first one did, a store where the second one did. Both move words, whatever these are."""
    place = first if first.loads else second
    builder = builder_before(place.operation)
    attributes = {name: first.operation.attributes[name] for name in first.operation.attributes}

    def cast(value: Value, kind: Type) -> Value:
        return value if value.type == kind else builder.value("vector.bitcast", (value,), kind)

    def shuffled(left: Value, right: Value, words: range) -> Value:
        mask = {"mask": builder.integers(words)}
        return builder.value("vector.shuffle", (left, right), f"vector<{len(words)}xi32>", mask)

    if first.loads:
        whole = builder.value("llvm.load", (first.pointer,), f"vector<{2 * _WORDS}xi32>", attributes)
        for access, words in ((first, range(_WORDS)), (second, range(_WORDS, 2 * _WORDS))):
            access.value.replace_all_uses_with(cast(shuffled(whole, whole, words), access.value.type))
    else:
        left, right = (cast(access.value, builder.type(f"vector<{_WORDS}xi32>")) for access in (first, second))
        whole = shuffled(left, right, range(2 * _WORDS))
        builder.operation("llvm.store", (whole, first.pointer), (), attributes)
    for access in (first, second):
        access.operation.erase()

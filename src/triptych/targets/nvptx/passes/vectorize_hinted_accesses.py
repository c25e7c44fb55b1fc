"""Pass `vectorize-hinted-accesses`: two accesses of 16 bytes with the same hints for caches become one of 32 bytes.

Input: traced kernels for a GPU from sm_100 on. Output: the same kernels with wider accesses where the second follows
the first in memory, nothing between them touches memory that other threads see, and the first is at a multiple of 32
bytes. Accesses without hints LLVM joins by itself; those with an order stay as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Type, Value
from triptych.ir.modules import operations_named
from triptych.ir.types import is_vector
from triptych.kernel_ir.analysis.addresses import AddressForms, private_place
from triptych.kernel_ir.dialects.kernel_operations import is_pure, operations
from triptych.targets.nvptx.analysis.kernels import kernels
from triptych.targets.nvptx.analysis.memory_types import bits_of
from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.description.errors import AssemblerError, MissingToolError
from triptych.targets.nvptx.description.instructions import CACHE, ORDER
from triptych.targets.nvptx.toolchain.assembler import ptx_version
from triptych.targets.nvptx.toolchain.assembling import find_assembler

_SINCE, _IN_PTX_SINCE = 100, 88
_HALF_BYTES = 16
_WORDS = _HALF_BYTES // 4
_ACCESSES = ("llvm.load", "llvm.store")
_HINTS = (CACHE, ORDER)
_UNORDERED = (None, "constant")
_VOLATILE = "volatile_"


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
    builder, location = Builder(place.operation.context), place.operation.location
    builder.insertion = builder.before(place.operation)
    attributes = {name: first.operation.attributes[name] for name in first.operation.attributes}

    def cast(value: Value, kind: Type) -> Value:
        return value if value.type == kind else builder.value("vector.bitcast", (value,), kind, location=location)

    def shuffled(left: Value, right: Value, words: range) -> Value:
        mask = {"mask": builder.integers(words)}
        return builder.value("vector.shuffle", (left, right), f"vector<{len(words)}xi32>", mask, location=location)

    if first.loads:
        whole = builder.value("llvm.load", (first.pointer,), f"vector<{2 * _WORDS}xi32>", attributes, location=location)
        for access, words in ((first, range(_WORDS)), (second, range(_WORDS, 2 * _WORDS))):
            access.value.replace_all_uses_with(cast(shuffled(whole, whole, words), access.value.type))
    else:
        left, right = (cast(access.value, builder.type(f"vector<{_WORDS}xi32>")) for access in (first, second))
        whole = shuffled(left, right, range(2 * _WORDS))
        builder.operation("llvm.store", (whole, first.pointer), (), attributes, location=location)
    for access in (first, second):
        access.operation.erase()

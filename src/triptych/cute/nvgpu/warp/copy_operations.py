"""`ldmatrix` and `stmatrix` as objects: each names an entry of `triptych.kernel_ir.dialects`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from triptych.cute.copies.atoms import CopyAtom, CopyLayouts, CopyOperation
from triptych.cute.copies.instructions import load_matrices, store_matrices
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.errors import CopyInstructionError
from triptych.kernel_ir.dialects.matrix_copies import MATRIX_LOADS, MATRIX_STORES, REGISTER_BITS, Form, MatrixCopy
from triptych.kernel_ir.dialects.tile import WARP_THREADS
from triptych.layout import Layout, make_layout, recast_layout, size
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class MatrixCopyOp(CopyOperation):
    """`num_matrices` matrices at once; `transpose` exchanges rows and columns on the way.

    With `unpack_bits` memory holds elements of 4 or 6 bits, and registers a byte for each.
    """

    transpose: bool = False
    num_matrices: int = 1
    unpack_bits: int | None = None

    matrix: ClassVar[str]
    forms: ClassVar[Mapping[Form, MatrixCopy]]

    def __post_init__(self) -> None:
        if self._form not in self.forms:
            known = [form for form in self.forms if form.matrix == self.matrix]
            raise CopyInstructionError(
                f"{type(self).__name__} has no such instruction",
                span=place(),
                found=_text(self._form),
                expected="one of " + "; ".join(map(_text, known)),
            )

    @property
    def instruction(self) -> MatrixCopy:
        """Its entry among the instructions."""
        return self.forms[self._form]

    @property
    def _form(self) -> Form:
        return Form(self.matrix, self.transpose, self.num_matrices, self.unpack_bits)

    def layouts(self, dtype: type[Numeric], num_bits_per_copy: int) -> CopyLayouts:
        """The layouts of the instruction, which count bits, in elements."""
        instruction = self.instruction
        memory, registers = (
            recast_layout(dtype.width, 1, bits) for bits in (instruction.in_memory, instruction.in_registers)
        )
        if size(registers, [0]) != WARP_THREADS:
            raise self._tears(dtype)
        source, destination = (memory, registers) if instruction.is_load else (registers, memory)
        return CopyLayouts(Layout(WARP_THREADS, 1), source, destination, registers)

    def _tears(self, dtype: type[Numeric]) -> CopyInstructionError:
        return CopyInstructionError(
            f"{self.instruction.name} would tear elements of {dtype.width} bits apart",
            span=place(),
            found=dtype.__name__,
            expected="elements as wide as those that are transposed, or narrower",
            instead="transpose=False, or a copy by `CopyUniversalOp`",
        )


class LdMatrixOp(MatrixCopyOp):
    """A load of matrices from shared memory into registers."""

    __slots__ = ()
    forms = MATRIX_LOADS

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """One load of matrices."""
        load_matrices(self.instruction, atom, src, dst, index)


class StMatrixOp(MatrixCopyOp):
    """A store of matrices from registers into shared memory.

    Programs also ask which thread holds what for elements that it would tear apart, and copy them in another way.
    """

    __slots__ = ()
    forms = MATRIX_STORES

    def layouts(self, dtype: type[Numeric], num_bits_per_copy: int) -> CopyLayouts:
        """The layouts of the instruction, which count bits, in elements; for too wide ones as many in each thread."""
        if not self._is_torn(dtype):
            return MatrixCopyOp.layouts(self, dtype, num_bits_per_copy)
        held = make_layout((WARP_THREADS, self.instruction.registers * REGISTER_BITS // dtype.width))
        return CopyLayouts(Layout(WARP_THREADS, 1), held, held, held)

    def _is_torn(self, dtype: type[Numeric]) -> bool:
        return size(recast_layout(dtype.width, 1, self.instruction.in_registers), [0]) != WARP_THREADS

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """One store of matrices."""
        if self._is_torn(atom.value_type):
            raise self._tears(atom.value_type)
        store_matrices(self.instruction, atom, src, dst, index)


class LdMatrix8x8x16bOp(LdMatrixOp):
    """8x8 elements of 16 bits."""

    __slots__ = ()
    matrix = "8x8x16b"


class LdMatrix8x16x8bOp(LdMatrixOp):
    """8x16 bytes."""

    __slots__ = ()
    matrix = "8x16x8b"


class LdMatrix16x8x8bOp(LdMatrixOp):
    """16x8 bytes, transposed: two of them are one 16x16 matrix of the instruction set."""

    __slots__ = ()
    matrix = "16x8x8b"


class LdMatrix16x16x8bOp(LdMatrixOp):
    """16x16 bytes, transposed."""

    __slots__ = ()
    matrix = "16x16x8b"


class StMatrix8x8x16bOp(StMatrixOp):
    """8x8 elements of 16 bits."""

    __slots__ = ()
    matrix = "8x8x16b"


class StMatrix16x8x8bOp(StMatrixOp):
    """16x8 bytes, transposed."""

    __slots__ = ()
    matrix = "16x8x8b"


def _text(form: Form) -> str:
    unpacked = "" if form.unpacked is None else f", unpack_bits={form.unpacked}"
    return f"transpose={form.transposed}, num_matrices={form.count}{unpacked}"

"""Matrix core operations of AMD GPUs: element types and a shape, which name an entry of `WAVE_MMAS`."""

from __future__ import annotations

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.mma.atoms import MmaOperands
from triptych.cute.mma.register_products import described, emit_tile_mma, require_threads, written
from triptych.cute.mma.typed import TYPES, WORDS, TypedMmaOp
from triptych.cute.tracing.device import device_model
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import MatrixTilingError, UnknownMatrixInstructionError
from triptych.kernel_ir.dialects import wave_mma
from triptych.kernel_ir.dialects.wave_mma import WAVE_MMAS, WaveMma
from triptych.layout import Layout
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Float32, Float64, Int32, Numeric
from triptych.support.dataclass import dataclass

_FAMILIES = {11: wave_mma.WMMA3, 12: wave_mma.WMMA4}
"""Of WMMA, by the number that the names of chips begin with."""


@dataclass(frozen=True, slots=True, repr=False)
class MatrixCoreOp(TypedMmaOp):
    """A product of registers that all threads of a wave compute together."""

    family: str

    def __post_init__(self) -> None:
        if self._name() in WAVE_MMAS:
            return
        every = [entry for entry in WAVE_MMAS.values() if entry.family == self.family]
        known = [entry for entry in every if TYPES[entry.a] is self.a_dtype] or every
        asked = {self.a_dtype, self.b_dtype, self.acc_dtype, self.shape_mnk}
        shared = [len(asked & {TYPES[o.a], TYPES[o.b], TYPES[o.accumulator], o.shape_mnk}) for o in known]
        raise UnknownMatrixInstructionError(
            f"{type(self).__name__} has no such instruction",
            span=place(),
            found=described(self.a_dtype, self.b_dtype, self.acc_dtype, self.shape_mnk),
            expected="one of " + "; ".join(map(written, known)),
            instead=written(known[shared.index(max(shared))]),
        )

    @property
    def instruction(self) -> WaveMma:
        """Its entry among the instructions."""
        return WAVE_MMAS[self._name()]

    @property
    def threads(self) -> Layout:
        """A wave."""
        return Layout(self.instruction.threads, 1)

    @property
    def operand_space(self) -> AddressSpace:
        """Registers."""
        return AddressSpace.rmem

    def require(self, threads: int) -> None:
        """Waves of as many threads as the instruction takes, all of them whole, in a kernel."""
        lanes, needed = device_model().lanes, self.instruction.threads
        if lanes != needed:
            raise MatrixTilingError(
                f"an instruction of {needed} threads on a machine whose warps have {lanes}",
                span=place(),
                found=str(self),
                expected=f"a machine with warps of {needed} threads: {', '.join(self.instruction.chips)}",
                instead="target='cpu:64' to run it here" if needed > lanes else "target='cpu' to run it here",
            )
        require_threads(self, threads)

    def emit(self, product: MmaOperands) -> None:
        """All instructions as one operation."""
        emit_tile_mma(self.instruction, product)

    def _name(self) -> str:
        return f"{self.family}.{self._shape_and_types()}.{WORDS.get(self.acc_dtype, '')}"


class MFMA(MatrixCoreOp):
    """A product by the 64 threads of a wave of CDNA (MI200, MI300, MI350).

    Sums are Float32, those of Int8 Int32 and those of Float64 Float64. `b_dtype` only where B has another type than A:
    floats of eight bits, Float8E4M3FNUZ and Float8E5M2FNUZ on MI300, Float8E4M3FN and Float8E5M2 on MI350.
    """

    __slots__ = ()

    @eager
    def __init__(
        self,
        m: int,
        n: int,
        k: int,
        ab: type[Numeric],
        acc: type[Numeric] | None = None,
        *,
        b_dtype: type[Numeric] | None = None,
    ) -> None:
        super().__init__(ab, acc or _sums_of(ab), (m, n, k), b_dtype or ab, wave_mma.MFMA)


class WMMA(MatrixCoreOp):
    """A product by the 32 threads of a wave of RDNA.

    `generation` is 12 for RDNA 4 (gfx1200 and newer), 11 for RDNA 3: they deal elements to threads in other ways.
    """

    __slots__ = ()

    @eager
    def __init__(
        self,
        m: int,
        n: int,
        k: int,
        ab: type[Numeric],
        acc: type[Numeric] | None = None,
        *,
        generation: int = 12,
        b_dtype: type[Numeric] | None = None,
    ) -> None:
        if generation not in _FAMILIES:
            raise UnknownMatrixInstructionError(
                "there is no WMMA of that generation",
                span=place(),
                found=f"generation={generation!r}",
                expected=" or ".join(map(str, _FAMILIES)),
            )
        super().__init__(ab, acc or _sums_of(ab), (m, n, k), b_dtype or ab, _FAMILIES[generation])


def _sums_of(dtype: type[Numeric]) -> type[Numeric]:
    """What products of a type are added up in."""
    return Float64 if dtype is Float64 else Float32 if dtype.is_float else Int32

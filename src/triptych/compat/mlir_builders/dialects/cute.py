"""Builder calls of pointers: `cutlass._mlir.dialects.cute`."""

from __future__ import annotations

from triptych.compat.mlir_builders.dialects.cute_nvgpu import TmaDescriptorTiledType
from triptych.compat.mlir_builders.values import class_of
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.ir.handles import Type
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric, Uint8
from triptych.support.dataclass import dataclass

__all__ = ["PtrType", "recast_iter"]


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, slots=True)
class PtrType:
    """Pointers by what they point to, the memory that it is in, and a number of bytes that they are multiples of."""

    dtype: type[Numeric]
    memspace: AddressSpace
    alignment: int | None = None

    @staticmethod
    def get(
        value_type: Type | TmaDescriptorTiledType,
        address_space: AddressSpace = AddressSpace.generic,
        alignment: int | None = None,
    ) -> PtrType:
        """To numbers of an MLIR type, or to a tensor map, of which only its bytes are known."""
        dtype = Uint8 if isinstance(value_type, TmaDescriptorTiledType) else class_of(value_type)
        if dtype is None:
            raise OperandTypeError(
                "a pointer is to numbers or to a tensor map",
                span=place(),
                found=str(value_type),
                expected="the type of a number, `Float32.mlir_type`, or `TmaDescriptorTiledType.get()`",
            )
        return PtrType(dtype, address_space, alignment)


def recast_iter(result_type: PtrType, source: Pointer, *, loc: object = None, ip: object = None) -> Pointer:
    """The same address as a pointer of a type."""
    if source.memspace is not result_type.memspace:
        raise OperandTypeError(
            "a pointer stays in its memory",
            span=place(),
            found=f"{source} as one in {result_type.memspace.name}",
            expected=f"a pointer in {result_type.memspace.name}",
            instead="`llvm.addrspacecast` and `cute.make_ptr`",
        )
    pointer = source.recast(result_type.dtype, None)
    return pointer if result_type.alignment is None else pointer.align(result_type.alignment)

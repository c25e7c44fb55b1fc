"""Scalar conversion at the call boundary: its MLIR type, the Python values it takes, and its bounds."""

from __future__ import annotations

from typing import Literal

from triptych.ir.errors import LoweringError
from triptych.stages import Leaf
from triptych.support.dataclass import dataclass

Kind = Literal["boolean", "signed", "unsigned", "float"]


@dataclass(frozen=True, slots=True)
class BoundaryScalar:
    """One DSL type at the boundary."""

    name: str
    kind: Kind
    width: int
    mlir: str
    """The type as which it crosses."""
    rounded_to: str = ""
    """The narrow float type that the function itself rounds to and widens from."""

    @property
    def traced(self) -> str:
        """The MLIR type that the traced function has."""
        return self.rounded_to or self.mlir

    @property
    def low(self) -> int:
        """The smallest int that fits."""
        return -(1 << (self.width - 1)) if self.kind == "signed" else 0

    @property
    def high(self) -> int:
        """The largest int that fits."""
        return (1 << (self.width - 1 if self.kind == "signed" else self.width)) - 1

    @property
    def exceeds_63_bits(self) -> bool:
        """True when some values do not fit in a packed int."""
        return self.kind == "unsigned" and self.width == 64


_NARROW_FLOATS = {
    "TFloat32": "tf32",
    "Float8E5M2": "f8E5M2",
    "Float8E4M3": "f8E4M3",
    "Float8E4M3FN": "f8E4M3FN",
    "Float8E4M3B11FNUZ": "f8E4M3B11FNUZ",
    "Float8E4M3FNUZ": "f8E4M3FNUZ",
    "Float8E5M2FNUZ": "f8E5M2FNUZ",
    "Float8E8M0FNU": "f8E8M0FNU",
    "Float6E3M2FN": "f6E3M2FN",
    "Float6E2M3FN": "f6E2M3FN",
    "Float4E2M1FN": "f4E2M1FN",
}
SCALARS = {
    scalar.name: scalar
    for scalar in (
        BoundaryScalar("Boolean", "boolean", 1, "i1"),
        *(BoundaryScalar(f"Int{width}", "signed", width, f"i{width}") for width in (4, 8, 16, 32, 64)),
        *(BoundaryScalar(f"Uint{width}", "unsigned", width, f"i{width}") for width in (8, 16, 32, 64)),
        BoundaryScalar("Float16", "float", 16, "f16"),
        BoundaryScalar("BFloat16", "float", 16, "bf16"),
        BoundaryScalar("Float32", "float", 32, "f32"),
        BoundaryScalar("Float64", "float", 64, "f64"),
        *(BoundaryScalar(name, "float", 64, "f64", narrow) for name, narrow in _NARROW_FLOATS.items()),
    )
}


def scalar_of(leaf: Leaf, role: str) -> BoundaryScalar:
    """The scalar of a leaf; a type that cannot cross is refused by name."""
    if leaf.dtype not in SCALARS:
        raise LoweringError(
            f"{role} {leaf.path!r} has type {leaf.dtype}, which cannot pass between Python and compiled code",
            found=leaf.dtype,
            expected="a Boolean, an integer of at most 64 bits, or a float",
            instead="convert to one of these inside the function",
        )
    return SCALARS[leaf.dtype]

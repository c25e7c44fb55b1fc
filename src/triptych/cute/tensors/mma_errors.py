"""What can be wrong with matrix instructions and their operands, found while tracing."""

from __future__ import annotations

from triptych.cute.tracing.cute_errors import TensorError


class UnknownMatrixInstructionError(TensorError, ValueError):
    """Element types and a shape that no matrix instruction has."""

    code = "TT0931"


class MatrixTilingError(TensorError, ValueError):
    """Matrix instructions are laid over threads or elements in a way that leaves some out or names some twice."""

    code = "TT0932"


class MatrixOperandError(TensorError, ValueError):
    """An operand of a product whose extents, element type or memory do not fit the instruction or the others."""

    code = "TT0933"


class RegisterPlaceError(TensorError, ValueError):
    """A fragment whose elements do not lie in registers as an instruction takes them, or not at a known place."""

    code = "TT0934"


class UnsetFieldError(TensorError, RuntimeError):
    """A product by an operation that adds to D or begins anew, and nobody has said which."""

    code = "TT0935"


class SharedOperandError(TensorError, ValueError):
    """A matrix in shared memory that does not lie as the matrix instructions read it."""

    code = "TT0936"

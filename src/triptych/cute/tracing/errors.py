"""Errors of the kernel language: pointers, tensors, copies, products, pipelines and tensor arguments."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class TensorError(TriptychError):
    """Root of the errors of pointers and tensors."""

    code = "TT0900"


class TensorIndexError(TensorError, IndexError):
    """A coordinate that is known while tracing lies outside the tensor."""

    code = "TT0901"


class StaticTensorError(TensorError, TypeError):
    """An operation on whole tensors needs a shape that is known while tracing."""

    code = "TT0902"


class ElementTypeError(TensorError, TypeError):
    """A value that a tensor cannot hold without losing what it is."""

    code = "TT0903"


class TensorShapeError(TensorError, ValueError):
    """Two tensors, or a tensor and a value, whose shapes differ where they must agree."""

    code = "TT0904"


class PartialByteError(TensorError, TypeError):
    """Elements narrower than a byte are touched where only whole bytes can be."""

    code = "TT0905"


class PointerError(TensorError, ValueError):
    """A pointer is asked for an alignment, an address space or an offset that it cannot have."""

    code = "TT0906"


class IncompleteOperationError(TensorError, TypeError):
    """A copy or matrix operation of the program's own lacks what every operation has."""

    code = "TT0907"


class DeviceOnlyError(TriptychError, RuntimeError):
    """A function of the device is called where no kernel is being traced: there are no threads there."""

    code = "TT0405"


class PipelineError(TensorError, ValueError):
    """A pipeline whose producers and consumers, or whose stages, the barriers of a block cannot serve."""

    code = "TT0920"


class TensorTruthError(TensorError, TypeError):
    """A tensor used as one truth value."""

    code = "TT0921"


class RoundingModeError(TriptychError, NotImplementedError):
    """A rounding mode that no target has for a function yet."""

    code = "TT0922"


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
    """An MMA that accumulates into D or overwrites it, and the program has not said which."""

    code = "TT0935"


class SharedOperandError(TensorError, ValueError):
    """A matrix in shared memory that does not lie as the matrix instructions read it."""

    code = "TT0936"


class CopyInstructionError(TensorError, ValueError):
    """No copy instruction moves this many bits, matrices or elements of this type."""

    code = "TT0941"


class CopyMemoryError(TensorError, TypeError):
    """A copy instruction goes from one kind of memory to another; a tensor lies elsewhere or holds other elements."""

    code = "TT0942"


class CopyAlignmentError(TensorError, ValueError):
    """A copy instruction needs addresses of an alignment that cannot be proven."""

    code = "TT0943"


class CopyLayoutError(TensorError, ValueError):
    """The elements that one copy instruction moves do not lie side by side."""

    code = "TT0944"


class TensorMapError(TensorError, ValueError):
    """No tensor map describes this tensor, or no box of it is this tile of shared memory."""

    code = "TT0945"


class BoxCopyError(TensorError, ValueError):
    """A TMA copy lacks what it needs: a barrier, a tile as the atom was made for, aligned shared memory."""

    code = "TT0946"


class TensorMarkingError(TriptychError, ValueError):
    """A tensor is marked as dynamic in a way that its layout does not allow."""

    code = "TT0644"


class UndeterminedSymbolError(TriptychError, ValueError):
    """An unknown of a fake tensor that no extent or stride of the arguments gives by itself."""

    code = "TT0645"


class FakeTensorError(TriptychError, TypeError):
    """A fake tensor is described wrongly, or used where its elements are needed: it has none."""

    code = "TT0646"


class PointerArgumentError(TriptychError, ValueError):
    """An address that is not what a pointer argument was declared to be."""

    code = "TT0647"

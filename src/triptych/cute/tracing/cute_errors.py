"""What can be wrong with pointers and tensors while a program is traced."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class TensorError(TriptychError):
    """Root of the errors of pointers and tensors."""

    code = "TT0900"


class TensorIndexError(TensorError, IndexError):
    """A coordinate that is known while tracing lies outside the tensor."""

    code = "TT0901"
    failing = """
from triptych import cute

@tt.jit
def f():
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row[8] = 1.0

f()
"""
    fixed = """
from triptych import cute

@tt.jit
def f():
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row[7] = 1.0

f()
"""


class StaticTensorError(TensorError, TypeError):
    """An operation on whole tensors needs a shape that is known while tracing."""

    code = "TT0902"
    failing = """
from triptych import cute

@tt.jit
def f(n: tt.Int32):
    row = cute.make_rmem_tensor((n,), tt.Float32)
    row.fill(0.0)

f(8)
"""
    fixed = """
from triptych import cute

@tt.jit
def f(n: tt.Constexpr):
    row = cute.make_rmem_tensor((n,), tt.Float32)
    row.fill(0.0)

f(8)
"""


class ElementTypeError(TensorError, TypeError):
    """A value that a tensor cannot hold without losing what it is."""

    code = "TT0903"
    failing = """
from triptych import cute

@tt.jit
def f(x: tt.Float32):
    counts = cute.make_rmem_tensor((4,), tt.Int32)
    counts[0] = x

f(1.5)
"""
    fixed = """
from triptych import cute

@tt.jit
def f(x: tt.Float32):
    counts = cute.make_rmem_tensor((4,), tt.Int32)
    counts[0] = x.to(tt.Int32)

f(1.5)
"""


class TensorShapeError(TensorError, ValueError):
    """Two tensors, or a tensor and a value, whose shapes differ where they must agree."""

    code = "TT0904"
    failing = """
from triptych import cute

@tt.jit
def f():
    source = cute.make_rmem_tensor((4, 2), tt.Float32)
    target = cute.make_rmem_tensor((4, 4), tt.Float32)
    source.fill(0.0)
    target.store(source.load())

f()
"""
    fixed = """
from triptych import cute

@tt.jit
def f():
    source = cute.make_rmem_tensor((4, 4), tt.Float32)
    target = cute.make_rmem_tensor((4, 4), tt.Float32)
    source.fill(0.0)
    target.store(source.load())

f()
"""


class PartialByteError(TensorError, TypeError):
    """Elements narrower than a byte are touched where only whole bytes can be."""

    code = "TT0905"
    failing = """
from triptych import cute

@tt.jit
def f(address: tt.Int64):
    bytes = cute.make_ptr(tt.Int4, address, cute.AddressSpace.gmem)
    packed = cute.make_tensor(bytes, cute.make_layout((8,)))
    packed[0] = 1

f(0)
"""
    fixed = """
from triptych import cute

@tt.jit
def f():
    packed = cute.make_rmem_tensor((8,), tt.Int4)
    packed[0] = 1

f()
"""


class PointerError(TensorError, ValueError):
    """A pointer is asked for an alignment, an address space or an offset that it cannot have."""

    code = "TT0906"
    failing = """
from triptych import cute

@tt.jit
def f():
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.iterator.align(3)

f()
"""
    fixed = """
from triptych import cute

@tt.jit
def f():
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.iterator.align(4)

f()
"""


class IncompleteOperationError(TensorError, TypeError):
    """A copy or matrix operation of the program's own lacks what every operation has."""

    code = "TT0907"
    failing = """
from triptych import cute

class Stays(cute.CopyOperation):
    pass

Stays()
"""
    fixed = """
from triptych import cute

class Stays(cute.CopyOperation):
    def emit(self, atom, src, dst, index):
        pass

Stays()
"""

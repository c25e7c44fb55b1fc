"""What can be wrong with the description of a tensor argument."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class TensorMarkingError(TriptychError, ValueError):
    """A tensor is marked as dynamic in a way that its layout does not allow."""

    code = "TT0644"
    failing = """
import numpy as np
from triptych.cute.runtime import from_dlpack

from_dlpack(np.zeros((4, 8))).mark_layout_dynamic(leading_dim=0)
"""
    fixed = """
import numpy as np
from triptych.cute.runtime import from_dlpack

from_dlpack(np.zeros((4, 8))).mark_layout_dynamic(leading_dim=1)
"""


class UndeterminedSymbolError(TriptychError, ValueError):
    """An unknown of a fake tensor that no extent or stride of the arguments gives by itself."""

    code = "TT0645"
    failing = """
from triptych import cute
from triptych.cute.runtime import make_fake_tensor

@tt.jit
def f(x):
    pass

n = cute.sym_int()
tt.compile(f, make_fake_tensor(tt.Float32, (n // 2,), (1,)))
"""
    fixed = """
from triptych import cute
from triptych.cute.runtime import make_fake_tensor

@tt.jit
def f(x, y):
    pass

n = cute.sym_int()
tt.compile(f, make_fake_tensor(tt.Float32, (n // 2,), (1,)), make_fake_tensor(tt.Float32, (n,), (1,)))
"""


class FakeTensorError(TriptychError, TypeError):
    """A fake tensor is described wrongly, or used where its elements are needed: it has none."""

    code = "TT0646"
    failing = """
from triptych.cute.runtime import make_fake_tensor

@tt.jit
def f(x):
    pass

f(make_fake_tensor(tt.Float32, (8,), (1,)))
"""
    fixed = """
from triptych.cute.runtime import make_fake_tensor

@tt.jit
def f(x):
    pass

tt.compile(f, make_fake_tensor(tt.Float32, (8,), (1,)))
"""


class PointerArgumentError(TriptychError, ValueError):
    """An address that is not what a pointer argument was declared to be."""

    code = "TT0647"
    failing = """
from triptych import cute
from triptych.cute.runtime import make_ptr

make_ptr(tt.Float32, 4100, cute.AddressSpace.gmem, assumed_align=16)
"""
    fixed = """
from triptych import cute
from triptych.cute.runtime import make_ptr

make_ptr(tt.Float32, 4096, cute.AddressSpace.gmem, assumed_align=16)
"""

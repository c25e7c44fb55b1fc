"""The kinds of instructions that are counted together: by what of a GPU they keep busy."""

from __future__ import annotations

from triptych.ptxsim.accesses import space_of
from triptych.ptxsim.reading import Instruction

_ACCESSES = {"ld": "load", "ldu": "load", "st": "store", "atom": "atomic", "red": "atomic"}
_BY_NAME = {
    "matrix products": ("mma", "wgmma"),
    "matrix rows": ("ldmatrix", "stmatrix", "movmatrix"),
    "asynchronous copies": ("cp", "mbarrier", "tensormap", "prefetch", "prefetchu"),
    "branches": ("bra", "brx", "ret", "exit", "trap", "call"),
    "barriers": ("bar", "barrier", "fence", "membar"),
    "exchanges": ("shfl", "vote", "redux", "match", "elect", "activemask"),
    "moves": ("mov", "cvt", "cvta", "prmt", "mapa"),
    "choices": ("setp", "selp", "set", "slct", "testp"),
    "special functions": ("ex2", "lg2", "sin", "cos", "tanh", "rcp", "rsqrt", "sqrt", "div", "rem"),
}
_KINDS = {name: kind for kind, names in _BY_NAME.items() for name in names}


def kind_of(instruction: Instruction) -> str:
    """As `shared loads` or `float arithmetic`."""
    if instruction.name in _ACCESSES:
        space = (space_of(instruction) or "generic").partition("::")[0]
        return "parameters" if space == "param" else f"{space} {_ACCESSES[instruction.name]}s"
    if instruction.name in _KINDS:
        return _KINDS[instruction.name]
    is_float = any(word[:1] == "f" or word[:2] == "bf" for word in instruction.modifiers if word[-1:].isdigit())
    return "float arithmetic" if is_float else "integer arithmetic"

"""C interface of an exported function: names and types of parameters, which extents and strides a caller gives.

Input: the leaves of the compiled signature. Output: a `CFunction`, from which the header, the entry and the loader are
made, so that they cannot differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from triptych.ir.modules import leaves_text, read_leaves
from triptych.stages import Leaf, Memory
from triptych.targets.cpu.calling.scalars import SCALARS, BoundaryScalar
from triptych.targets.cpu.export.codes import ABI_VERSION

_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        alignas alignof and arguments asm auto bool break case catch char class concept const continue decltype default
        delete do double else enum explicit export extern false float for friend goto if inline int long module mutable
        namespace new noexcept not nullptr operator or private protected public register requires restrict result
        return short signed sizeof static struct switch template this throw true try typedef typename union unsigned
        using virtual void volatile wchar_t while xor
        """,
    )
)
"""Words of C and C++, and the names that wrappers use themselves."""


@dataclass(frozen=True, slots=True)
class CParameter:
    """One parameter of the wrapper; compiled code may receive several values for it."""

    name: str
    leaf: Leaf
    is_address: bool = False

    @property
    def memory(self) -> Memory | None:
        """Of a tensor, which C passes as the address of a structure, or of a pointer, which has no modes."""
        return self.leaf.memory

    @property
    def is_tensor(self) -> bool:
        return self.memory is not None and bool(self.memory.shape)

    @property
    def is_pointer(self) -> bool:
        return self.is_address or (self.memory is not None and not self.memory.shape)

    @property
    def scalar(self) -> BoundaryScalar:
        return SCALARS[self.leaf.dtype]

    @property
    def shapes(self) -> tuple[int, ...]:
        """Which extents the caller gives."""
        return _dynamic(self.memory.shape if self.memory is not None else ())

    @property
    def strides(self) -> tuple[int, ...]:
        """Which strides the caller gives."""
        return _dynamic(self.memory.stride if self.memory is not None else ())


def _dynamic(texts: Sequence[str]) -> tuple[int, ...]:
    return tuple(i for i, text in enumerate(texts) if not text.lstrip("-").isdigit())


@dataclass(frozen=True, slots=True)
class CFunction:
    """An exported function."""

    prefix: str
    parameters: tuple[CParameter, ...]
    result: Leaf | None
    target: str
    prints: bool

    @property
    def interface(self) -> int:
        """A number that two exports share only when their parameters are the same."""
        return int.from_bytes(hashlib.sha256(self._facts().encode()).digest()[:8], "little")

    @property
    def metadata(self) -> str:
        """What a loader has to know of the object, as text inside of it."""
        return json.dumps({"abi": ABI_VERSION, "interface": self.interface, "facts": json.loads(self._facts())})

    def _facts(self) -> str:
        return json.dumps(
            {
                "prefix": self.prefix,
                "names": [parameter.name for parameter in self.parameters],
                "addresses": [parameter.is_address for parameter in self.parameters],
                "parameters": json.loads(leaves_text([parameter.leaf for parameter in self.parameters])),
                "result": None if self.result is None else asdict(self.result),
                "target": self.target,
                "prints": self.prints,
            }
        )


def read_metadata(text: str) -> tuple[int, int, CFunction]:
    """The version, the interface and the function that a text of `metadata` describes."""
    data = json.loads(text)
    facts = data["facts"]
    leaves = read_leaves(json.dumps(facts["parameters"]))
    parameters = map(CParameter, facts["names"], leaves, facts["addresses"])
    result = None if facts["result"] is None else read_leaves(json.dumps([facts["result"]]))[0]
    function = CFunction(facts["prefix"], tuple(parameters), result, facts["target"], facts["prints"])
    return data["abi"], data["interface"], function


def c_parameters(leaves: Sequence[Leaf], addresses: frozenset[str]) -> Iterator[CParameter]:
    """Parameters with names that C takes: `p.x[1]` is `p_x_1`."""
    taken: set[str] = set()
    for leaf in leaves:
        name = re.sub(r"\W+", "_", leaf.path, flags=re.ASCII).strip("_") or "argument"
        name = f"_{name}" if name[0].isdigit() else name
        while name in taken or name in _RESERVED:
            name += "_"
        taken.add(name)
        yield CParameter(name, leaf, leaf.memory is None and leaf.path in addresses)

"""Stage artifacts: what each of the three stages gives to the next, frozen and printable.

`Source -> Rewritten` (pre-stage) `-> Traced` (meta-stage) `-> Lowered -> Compiled -> Loaded` (object-stage). For a
target that runs kernels only the object-stage begins with `Traced -> Split`.
MLIR modules inside them are opaque handles, so this file needs no MLIR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from triptych.interop.dlpack import CPU_DEVICES
from triptych.support.dataclass import dataclass
from triptych.support.serialization import CompressedText
from triptych.support.source import Span


@dataclass(frozen=True, slots=True)
class Source:
    """A Python function as the user wrote it."""

    function: Callable[..., Any]
    text: str
    file: str
    first_line: int


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A new function whose control flow calls hooks."""

    source: Source
    code: CodeType
    unparse: Callable[[], str]
    """Makes the text when someone looks: making it always would cost a quarter of the time of rewriting."""
    bind: Callable[[object], FunctionType]
    """`bind(hooks)` makes a runnable function of the rewritten code."""
    assigns: tuple[tuple[str, Span], ...] = ()
    """Attributes of its first parameter that every call assigns, each with the place of an assignment."""

    @property
    def text(self) -> str:
        """The rewritten function as readable Python."""
        return self.unparse()


@dataclass(frozen=True, slots=True)
class SymbolicExtent:
    """An integer of a tensor's layout that is known only at the call: a multiple of `divisor` in `width` bits, >= 0."""

    name: str
    width: int
    divisor: int = 1


@dataclass(frozen=True, slots=True)
class Memory:
    """What the tensor that is passed for a leaf must be.

    Extents and strides (in elements) are in postfix notation: `8`, `n`, `2 n *`.
    """

    space: int
    alignment: int
    """The address is a multiple of it."""
    shape: tuple[str, ...]
    stride: tuple[str, ...]
    unknowns: tuple[SymbolicExtent, ...] = ()
    """The ones that no earlier leaf has; compiled code receives the address, then these."""
    written: bool = True
    """Whether the program may write to it; a tensor that is only read may be read-only."""
    devices: tuple[int, ...] = CPU_DEVICES
    """Where it may be, as DLPack numbers kinds of memory."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One argument or result of the compiled signature: its path in the Python argument (`p.x[1]`), its DSL type name.

    A tensor has the type of its elements and says what `memory` it must be.
    """

    path: str
    dtype: str
    memory: Memory | None = None

    def on_devices(self, devices: tuple[int, ...]) -> Leaf:
        """The same with a tensor, if it is one, that is in memory of these kinds."""
        return self if self.memory is None else replace(self, memory=replace(self.memory, devices=devices))

    @property
    def type_text(self) -> str:
        """The type as a person reads it; what a call will tell of a tensor is `?`."""
        if self.memory is None:
            return self.dtype
        shape, stride = (
            ",".join(n if n.isdigit() else "?" for n in ns) for ns in (self.memory.shape, self.memory.stride)
        )
        return f"tensor<{self.dtype} o ({shape}):({stride})>"


@dataclass(frozen=True, slots=True)
class PassSpec:
    """One MLIR pass (or a Python callable on the module) and the sentence that says why it is in the list."""

    name: str
    why: str
    run: Callable[[Any], bool | None] | None = None
    """What a callable returns: False when it has neither made nor removed an operation."""
    looks_for: frozenset[str] = frozenset()
    """Operations of a callable: it is not called on a module that has none of them."""
    adds: frozenset[str] | None = None
    """Operations that it may make and others behind look for; None when it may make any, so that all are looked at."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that tracing has read by a way that names in the source do not show, such as `__import__(name)`."""

    what: str
    """How a person knows it: `sys.modules['settings']`."""
    read: Callable[[], Any]
    """Reads it again; a `partial`, so that equal questions can be told from others of the same name."""
    namespace: Mapping[str, Any] | None = None
    """Where it is, if that is a module: the key may know it all the same."""
    name: str = ""
    is_in_key: bool = False
    """Whether the key knows what it is, and only a change in this process would go unseen."""

    def question(self) -> tuple[object, ...]:
        """What is read, by identity: two questions are one if they ask the same function for the same objects."""
        if not isinstance(self.read, partial):
            return (id(self.read),)
        given = (self.read.func, *self.read.args, *self.read.keywords.values())
        return (*self.read.keywords, *map(id, given))


@dataclass(frozen=True, slots=True)
class Traced:
    """What remained dynamic, as MLIR: a module with one public `func.func @name`."""

    name: str
    module: Any
    """Opaque handle (`triptych.ir.modules.SerializedModule`): `str` prints it, `module.read()` is MLIR's own."""
    parameters: tuple[Leaf, ...]
    results: tuple[Leaf, ...]
    prints: bool = False
    """True when the code prints at run time."""
    loops: bool = False
    """True when the code may run long (a loop): the call then releases the interpreter lock."""
    span: Span | None = None
    overwritten: tuple[tuple[Any, str], ...] = ()
    """Attributes of objects from outside that the function assigned before it read them, as (object, name)."""
    assigns: str = ""
    """An attribute of such an object that tracing assigned, if there is one: another object wants its own trace."""
    unrepeatable: str = ""
    """What of the trace may be otherwise in another process, as a clause, like what a file says: not for the store."""
    found: tuple[Found, ...] = field(default=(), compare=False)
    """What tracing has read that a guard of the function may not watch."""

    @property
    def signature(self) -> str:
        """Name, arguments and results, as a person reads them."""
        takes = ", ".join(f"{leaf.path}: {leaf.type_text}" for leaf in self.parameters)
        gives = ", ".join(leaf.type_text for leaf in self.results) or "None"
        return f"{self.name}({takes}) -> {gives if len(self.results) < 2 else f'({gives})'}"


@dataclass(frozen=True, slots=True)
class Split:
    """A traced program as two: one for the machine of the caller, one for a device that runs kernels only."""

    host: Traced
    """Its launches call a driver. It takes one argument more, the address of a `LaunchRecord`."""
    device: Traced
    """The kernels, without the function that launches them."""
    kernels: tuple[str, ...]
    """Their names, in the order in which the host counts them."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """The target's dialect of LLVM, and its text after the pass list ran (`mlir`) and as LLVM IR (`llvm`)."""

    traced: Traced
    emit_mlir: Callable[[], str]
    """Prints the module when someone looks: of a large kernel that takes as long as a tenth of the pass list."""
    text: CompressedText
    entry: str
    """Symbol of the packed entry point."""
    host: Traced | None = None
    """The host program, where this is the device's."""
    kernels: tuple[str, ...] = ()
    """The device's, in the order in which the host program counts them."""

    @property
    def mlir(self) -> str:
        return self.emit_mlir()

    @property
    def llvm(self) -> str:
        return str(self.text)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Bytes that a process can load: an object file (CPU), PTX or a cubin (NVIDIA), with its readable assembly."""

    lowered: Lowered
    artifact: bytes
    emit_assembly: Callable[[], str]
    """Makes the assembly when someone looks: making it always would nearly double the time of code generation."""
    options: Mapping[str, Any] = field(default_factory=dict)
    views: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """Other forms that the target can show, by name: `ptx`, `cubin`, `sass`, `resources`."""
    host: Callable[[], Compiled] | None = None
    """The host program, compiled when someone first calls it: code for a GPU that is not here needs none."""

    @property
    def assembly(self) -> str:
        """The artifact in readable form."""
        return self.emit_assembly()


@dataclass(frozen=True, slots=True)
class Loaded:
    """A compiled artifact in this process: `call` is the native entry point taking the flattened arguments."""

    compiled: Compiled
    call: Callable[..., Any]
    attempt: Callable[..., Any] | None = None
    """As `call`, but gives NotImplemented for tensors that the function was not compiled for."""
    reads: Callable[[type], bool] | None = None
    """Whether `attempt` reads tensors of a Python type; it gives NotImplemented for all others."""
    packed: Callable[[], Any] | None = None
    """Makes the function of TVM FFI that is the native entry point itself."""
    address: int | None = None
    """Of that entry point, in code that `packed` keeps in memory."""

"""The three stages, top to bottom, and the object that holds what they made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from triptych.boundary import for_user
from triptych.dsl import DSL
from triptych.metastage.arguments import Shape
from triptych.metastage.promotion import PYTHON_NUMBERS
from triptych.metastage.results import Rebuild
from triptych.metastage.trace import Specialization, trace
from triptych.objectstage.call import load
from triptych.objectstage.codegen import codegen
from triptych.objectstage.errors import MissingViewError
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, Target
from triptych.observing import observe
from triptych.prestage.rewrite import rewrite
from triptych.stages import Compiled, Loaded, Rewritten


@dataclass(frozen=True, slots=True)
class Job:
    """One compilation: which function, specialized to what, in which language, for which target."""

    function: FunctionType
    specialization: Specialization
    language: DSL
    target: Target
    options: CompileOptions
    preprocessor: bool = True
    name: str = ""
    """What the function is called in generated code, if not as in Python."""


def compile_stages(job: Job) -> tuple[Rewritten | None, Loaded, Rebuild]:
    """Python in, a callable native function out."""
    started = time.perf_counter()
    job.target.start()
    job.language.load()
    rewritten = rewrite(job.function) if job.preprocessor else None  # pre-stage:    Python AST -> Python AST
    traced, rebuild = trace(  #                                         meta-stage:   run it once -> MLIR
        rewritten or job.function, job.specialization, job.language.hooks, rewrite, job.name
    )
    lowered = lower(  #                                                 object-stage: the target's pass list
        traced, job.target, job.language.passes, options=job.options
    )
    compiled = codegen(lowered, job.target, job.options)  #                           -> object file
    loaded = load(compiled, job.target)
    observe(rewritten, loaded, time.perf_counter() - started)
    return rewritten, loaded, rebuild


class View:
    """A form of compiled code that some targets have, as an attribute of the compiled function."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, function: CompiledFunction | None, _: type | None = None) -> Any:
        if function is None:
            return self
        try:
            return self._of(function._loaded.compiled)
        except Exception as error:
            for_user(error)
            raise

    def _of(self, compiled: Compiled) -> Any:
        if self._name in compiled.views:
            return compiled.views[self._name]()
        raise MissingViewError(
            f"{compiled.lowered.traced.name} is compiled for a target that has no {self._name}",
            expected=", ".join(("asm", *compiled.views)),
        )


class CompiledFunction:
    """A compiled function: call it with the dynamic arguments; look at every stage it went through.

    Calls of functions over numbers and tensors go straight to the native entry point (see `compiled_function`).
    """

    def __init__(
        self, rewritten: Rewritten | None, loaded: Loaded, rebuild: Rebuild, shapes: Mapping[str, Shape]
    ) -> None:
        self._rewritten = rewritten
        self._loaded = loaded
        self._rebuild = rebuild
        self._shapes = tuple(shapes.items())
        self.direct: Callable[..., Any] | None = None
        """What takes the Python arguments as they are, when that can be: the native entry point, if nothing is rebuilt.

        With tensors it gives NotImplemented for those that the function was not compiled for."""

    def takes(self, kind: type) -> bool:
        """Whether `direct` takes arguments of a Python type: the numbers, and tensors that compiled code reads."""
        return kind in PYTHON_NUMBERS or (self._loaded.reads is not None and self._loaded.reads(kind))

    @property
    def native(self) -> Callable[..., Any]:
        """The native entry point, taking the flattened arguments."""
        return self._loaded.call

    @property
    def source(self) -> str:
        """The Python source."""
        return self._rewritten.source.text if self._rewritten is not None else ""

    @property
    def rewritten(self) -> str:
        """The Python that the pre-stage made of it."""
        return self._rewritten.text if self._rewritten is not None else ""

    @property
    def mlir(self) -> str:
        """What remained dynamic, as the meta-stage traced it."""
        return str(self._loaded.compiled.lowered.traced.module)

    @property
    def lowered(self) -> str:
        """The module after the target's pass list."""
        return self._loaded.compiled.lowered.mlir

    @property
    def llvm(self) -> str:
        """LLVM IR as handed to the code generator."""
        return self._loaded.compiled.lowered.llvm

    @property
    def asm(self) -> str:
        """The machine's assembly."""
        return self._loaded.compiled.assembly

    @property
    def __mlir__(self) -> str:
        return self.mlir

    __ptx__ = View("ptx")
    """The kernels as PTX."""
    __cubin__ = View("cubin")
    """The kernels as a binary for one architecture of NVIDIA."""
    __sass__ = View("sass")
    """The machine code of that binary, readable."""
    resources = View("resources")
    """What each kernel takes of the GPU, by its name: registers, shared memory, spills, barriers."""
    usage = View("usage")
    """The same with what follows from it: how many blocks fit, and which accesses to memory could be wider."""

    def call_packed(self, *args: Any) -> Any:
        """Flatten aggregates to numbers, call, rebuild the result."""
        try:
            values = [v for (_, shape), arg in zip(self._shapes, args, strict=False) for v in shape.flatten(arg)]
            if len(args) != len(self._shapes):
                values = list(args)
            return self._result(self._loaded.call(*values))
        except Exception as error:
            for_user(error)
            raise

    __call__ = call_packed
    """Functions over plain numbers have the native entry point in this place."""

    def _result(self, returned: Any) -> Any:
        results = self._loaded.compiled.lowered.traced.results
        return self._rebuild(iter(returned) if len(results) > 1 else iter([returned]))


def compiled_function(job: Job) -> CompiledFunction:
    """Compile and wrap. A function over numbers and tensors gets a class of its own, whose `__call__` is the entry."""
    rewritten, loaded, rebuild = compile_stages(job)
    shapes = job.specialization.shapes
    if not all(shape.is_direct for shape in shapes.values()):
        return CompiledFunction(rewritten, loaded, rebuild, shapes)
    has_tensors = any(leaf.memory is not None for leaf in loaded.compiled.lowered.traced.parameters)
    direct = loaded.attempt if has_tensors else loaded.call
    if rebuild is not next:
        several = CompiledFunction(rewritten, loaded, rebuild, shapes)
        several.direct = None if direct is None else _rebuilding(direct, several._result)
        return several
    own = type("CompiledFunction", (CompiledFunction,), {"__call__": staticmethod(loaded.call)})
    compiled: CompiledFunction = own(rewritten, loaded, rebuild, shapes)
    compiled.direct = direct
    return compiled


def _rebuilding(direct: Callable[..., Any], result: Callable[[Any], Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        returned = direct(*args)
        return returned if returned is NotImplemented else result(returned)

    return call

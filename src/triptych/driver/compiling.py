"""Compiled functions: the object that a program is called by, and that shows its stages."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, overload

from triptych.diagnostics.likely_mistakes import missing_attribute
from triptych.driver.boundary import api_boundary, for_user
from triptych.driver.cache_misses import check_unsealed
from triptych.driver.compile_jobs import Job
from triptych.driver.listeners import start_log
from triptych.driver.programs import Effects, KnownCode, Program, compile_here, load_or_compile
from triptych.fingerprint.cache_key import Key
from triptych.interop.streams import RECORDERS, is_stream_class, stream_handle
from triptych.interop.torch_tracers import opaque
from triptych.metastage.arguments.results import Rebuild
from triptych.metastage.arguments.specs import ArgumentSpec, defaults_of
from triptych.metastage.arguments.streams import STREAM
from triptych.metastage.values.promotion import PYTHON_NUMBERS
from triptych.objectstage.codegen import export_files, exported
from triptych.objectstage.errors import CompiledFunctionPickleError, MissingViewError
from triptych.objectstage.exports import Export, asked_for
from triptych.objectstage.target import find_target
from triptych.stages import Compiled, Found, Loaded, Rewritten
from triptych.support.forking import import_late
from triptych.support.tracebacks import caller

T = TypeVar("T")


class View(Generic[T]):
    """A form of compiled code that some targets have, as an attribute of the compiled function."""

    def __init__(self, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, function: None, _: type | None = None) -> View[T]: ...
    @overload
    def __get__(self, function: CompiledFunction, _: type | None = None) -> T: ...
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
        self,
        rewritten: Callable[[], Rewritten | None],
        loaded: Loaded,
        rebuild: Rebuild,
        shapes: Mapping[str, ArgumentSpec],
        defaults: Mapping[str, Any],
        target: str,
        opt_level: int,
        unkept: str = "",
        code_key: str = "",
    ) -> None:
        self._rewritten = rewritten
        self._loaded = loaded
        self._rebuild = rebuild
        self._shapes = tuple(shapes.items())
        self._defaults = defaults
        self.target = target
        """The name of the target it is compiled for."""
        self.opt_level = opt_level
        """How much the code generator optimised, 0 to 3."""
        self.unkept = unkept
        self.code_key = code_key
        """Why the store does not keep it, as a clause; empty if it does, or would."""
        self.direct: Callable[..., Any] | None = None
        """What takes the Python arguments as they are, when that can be: the native entry point, if nothing is rebuilt.

        With tensors it gives NotImplemented for those that the function was not compiled for."""

    def __repr__(self) -> str:
        signature = self._loaded.compiled.lowered.traced.signature
        return f"<CompiledFunction {signature}, {self.target}, opt_level {self.opt_level}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What notebooks show: every stage as a tab."""
        stages = {
            "source": self.source,
            "rewritten": self.rewritten,
            "MLIR": self.mlir,
            "LLVM IR": self.llvm,
            "assembly": self.asm,
        }
        html = import_late("triptych.support.html_tabs").html_tabs(repr(self), stages)
        return {"text/plain": repr(self), "text/html": html}

    if not TYPE_CHECKING:  # to which attributes that are not there stay errors

        def __getattr__(self, name: str) -> Any:
            try:
                if name.startswith("_") or hasattr(type(self), name):
                    return object.__getattribute__(self, name)  # which says why there is none
                raise missing_attribute("a compiled function", name, {}, dir(self), span=caller())
            except AttributeError as error:
                error.__traceback__ = None  # a bare `raise` adds no entry for this frame, which is none of the user's
                raise

        @property
        def __class__(self) -> type:
            """`tvm_ffi.convert` takes a callable for a Python function, unless it is of a class of its own."""
            core = sys.modules.get("tvm_ffi.core")
            return type(self) if core is None or self._loaded.packed is None else _convertible(core)

    def __copy__(self) -> CompiledFunction:
        """Itself, as for a function: code does not change."""
        return self

    def __deepcopy__(self, _: object) -> CompiledFunction:
        return self

    @api_boundary
    def __reduce_ex__(self, _: object) -> NoReturn:
        """Refused: machine code is this process's. What finds it again is small, and says where it comes from."""
        name = self._loaded.compiled.lowered.traced.name
        raise CompiledFunctionPickleError(
            f"the compiled function {name} cannot be sent to another process",
            span=caller(),
            found="machine code of this process",
            expected="what the other process can find it by",
            instead=f"the `@jit` function {name}: the other process compiles it for its arguments, which means "
            "loading it from the store that both have; or the file that `export_to_c` writes",
        )

    @property
    def overwritten(self) -> tuple[tuple[Any, str], ...]:
        """Attributes of objects from outside that it does not depend on, although a guard would watch them."""
        return self._loaded.compiled.lowered.traced.overwritten

    @property
    def assigns(self) -> bool:
        """Whether tracing it assigned attributes of objects from outside."""
        return bool(self._loaded.compiled.lowered.traced.assigns)

    @property
    def found(self) -> tuple[Found, ...]:
        """What tracing it has read that a guard of the function may not watch."""
        return self._loaded.compiled.lowered.traced.found

    @property
    def has_results(self) -> bool:
        """Whether a call gives anything back."""
        return bool(self._loaded.compiled.lowered.traced.results)

    def takes(self, kind: type) -> bool:
        """Whether `direct` takes arguments of a Python type: numbers, tensors that compiled code reads, streams."""
        if kind in PYTHON_NUMBERS or (self._loaded.reads is not None and self._loaded.reads(kind)):
            return True
        return is_stream_class(kind) and any(shape.kind is STREAM for _, shape in self._shapes)

    @property
    def native(self) -> Callable[..., Any]:
        """The native entry point, taking the flattened arguments."""
        return self._loaded.call

    @property
    def source(self) -> str:
        """The Python source."""
        rewritten = self._rewritten()
        return rewritten.source.text if rewritten is not None else ""

    @property
    def rewritten(self) -> str:
        """The Python that the pre-stage made of it."""
        rewritten = self._rewritten()
        return rewritten.text if rewritten is not None else ""

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
    def artifact(self) -> bytes:
        """What a process loads: an object file, or the binary for a GPU. Equal code has equal bytes."""
        return self._loaded.compiled.artifact

    @property
    def __mlir__(self) -> str:
        return self.mlir

    __ptx__ = View[str]("ptx")
    """The kernels as PTX."""
    __cubin__ = View[bytes]("cubin")
    """The kernels as a binary for one architecture of NVIDIA."""
    __sass__ = View[str]("sass")
    """The machine code of that binary, readable."""
    resources = View[Any]("resources")
    """What each kernel takes of the GPU, by its name: registers, shared memory, spills, barriers."""
    usage = View[Any]("usage")
    """The same with what follows from it: how many blocks fit, and which accesses to memory could be wider."""

    def asobject(self) -> Any:
        """The same by the older protocol of TVM FFI."""
        return self.__tvm_ffi_object__()

    @api_boundary
    def __tvm_ffi_object__(self) -> Any:
        """For `tvm_ffi.convert`: the native entry point as a function of TVM FFI, which takes flattened arguments."""
        if self._loaded.packed is None:
            name = self._loaded.compiled.lowered.traced.name
            raise MissingViewError(
                f"{name} has an entry for TVM FFI only where it is exported",
                found=f"code for the target {self.target}",
                expected="a function that is compiled for the CPU, or an object file",
                instead=f"export_to_c('{name}.o', function_name='{name}'), and load_module of that file",
            )
        return self._loaded.packed()

    @api_boundary
    def export_to_c(
        self,
        file_path: str | os.PathLike[str] = "",
        file_name: str = "",
        function_prefix: str = "",
        *,
        object_file_path: str | os.PathLike[str] = "",
        function_name: str = "",
        cpu: str = "",
    ) -> None:
        """Write it for programs that are not Python.

        With `file_name`: a header and an object file of that name in the folder `file_path`, whose C functions begin
        with `function_prefix`. With `function_name`: the object file `file_path` with an entry for TVM FFI,
        or `object_file_path`, whatever its name ends with. `cpu` is the oldest processor that has to run it, such as
        `x86-64-v3`; without it, that of this machine.
        """
        if object_file_path:
            path = Path(object_file_path)
            with TemporaryDirectory(dir=path.parent) as folder:
                made = Path(folder, "made.o")
                self.export_to_c(made, function_name=function_name, cpu=cpu)
                made.replace(path)
            return
        addresses = frozenset(name for name, shape in self._shapes if shape.kind is not None)
        patterns = [shape.pattern for _, shape in self._shapes]
        pattern = "" if all(each == 1 for each in patterns) else json.dumps(patterns)
        named = file_name, function_prefix, function_name
        wanted, stem = asked_for(Path(file_path), *named, addresses, pattern, cpu)
        export_files(self._loaded.compiled, find_target(self.target), wanted, stem)

    def export_packed(self, name: str, cpu: str = "") -> bytes:
        """An object file with a function of packed values, for libraries whose other parts call it."""
        wanted = Export(name, "packed", cpu=cpu)
        files: Mapping[str, bytes] = exported(self._loaded.compiled, find_target(self.target), wanted)
        return files[".o"]

    @opaque
    def call_packed(self, *args: object, **keywords: object) -> Any:
        """Flatten aggregates to numbers, call, rebuild the result. Keywords of the target, `stream`, are passed on."""
        try:
            if RECORDERS:
                return RECORDERS[-1].put_off(self.call_packed, args, keywords)
            values = self._flattened(args, keywords)
            return self._result(self._loaded.call(*values, **keywords))
        except Exception as error:
            for_user(error)
            raise

    def _flattened(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
        """What compiled code receives; takes parameters out of the keywords. What has a default, or what it receives
        nothing for (None, an object without numbers), need not be given."""
        given = [(shape, arg) for (_, shape), arg in zip(self._shapes, args, strict=False)]
        left_out = 0
        for name, shape in self._shapes[len(args) :]:
            if name in keywords:
                given.append((shape, keywords.pop(name)))
            elif name in self._defaults:
                given.append((shape, self._defaults[name]))
            else:
                left_out += shape.is_nothing
        if len(args) > len(self._shapes) or len(given) + left_out != len(self._shapes):
            return list(args)  # numbers of parts, or too few: compiled code counts them
        return [value for shape, arg in given for value in shape.flatten(arg)]

    __call__ = call_packed
    """Functions over plain numbers have the native entry point in this place."""

    # Any: one result as it is, or a sequence of several; how many says the program.
    def _result(self, returned: Any) -> Any:
        results = self._loaded.compiled.lowered.traced.results
        return self._rebuild(iter(returned) if len(results) > 1 else iter([returned]))


@cache
def _convertible(core: ModuleType) -> type:
    return type("CompiledFunction", (CompiledFunction, core.ObjectConvertible), {})


def compiled_function(
    job: Job, key: Key, effects: Effects, likely: CompiledFunction | None = None, anew: bool = False
) -> CompiledFunction:
    """Compile, or take from the store, and wrap; what is wanted `anew` nobody has, and nobody gets.

    A function over numbers and tensors gets a class of its own, whose `__call__` is the entry.
    """
    start_log()
    if anew:
        check_unsealed(job, key, None)
        return make_compiled_function(job, compile_here(job, KnownCode(job, key, effects)))
    program = load_or_compile(job, key, effects, None if likely is None else likely._loaded)
    return make_compiled_function(job, program)


def make_compiled_function(job: Job, program: Program) -> CompiledFunction:
    """A program as what the user calls and looks at."""
    rewritten, loaded, rebuild, *stored = program
    shapes = job.specialization.shapes
    defaults = {name: value for name, value in defaults_of(job.function).items() if name in shapes}
    has_tensors = any(leaf.memory is not None for leaf in loaded.compiled.lowered.traced.parameters)
    direct = loaded.attempt if has_tensors else loaded.call
    made = (rewritten, loaded, rebuild, shapes, defaults, job.target.name, job.options.opt_level)
    if not all(shape.is_direct for shape in shapes.values()):
        packed = CompiledFunction(*made, *stored)
        if direct is not None and all(shape.is_direct or shape.kind is STREAM for shape in shapes.values()):
            packed.direct = _rebuilding(_taking_streams(direct, shapes), packed._result)
        return packed
    if rebuild is not next or defaults or RECORDERS:  # what is recorded must not be called past the recorder
        several = CompiledFunction(*made, *stored)
        several.direct = None if direct is None else _rebuilding(direct, several._result)
        return several
    own = type("CompiledFunction", (CompiledFunction,), {"__call__": staticmethod(loaded.call)})
    compiled: CompiledFunction = own(*made, *stored)
    compiled.direct = direct
    return compiled


def _taking_streams(direct: Callable[..., Any], shapes: Mapping[str, ArgumentSpec]) -> Callable[..., Any]:
    """Streams cross as their handles."""
    streams = [i for i, shape in enumerate(shapes.values()) if shape.kind is STREAM]

    def call(*args: object) -> Any:
        values = list(args)
        for i in streams:
            values[i] = stream_handle(values[i])
        return direct(*values)

    return call


def _rebuilding(direct: Callable[..., Any], result: Callable[[Any], Any]) -> Callable[..., Any]:
    def call(*args: object) -> Any:
        returned = direct(*args)
        return returned if returned is NotImplemented else result(returned)

    return call

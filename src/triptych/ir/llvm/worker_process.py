"""Worker process: LLVM IR comes in on stdin, object code and assembly go out on stdout.

Runs alone (`python -I -S worker_process.py FOLDER PARENT`), imports nothing but llvmlite from FOLDER, and ends at the
end of its input or with the process PARENT. LLVM may abort or exit at any point; that is why it lives here and not in
the user's process.

A message is a length (8 bytes, little endian) and that many bytes. A request is two messages: JSON settings and
LLVM IR. An answer is a JSON head `{"error": text}` or `{"sizes": [...]}`, then the emitted parts in the
order asked for, as one message.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from _thread import start_new_thread
from collections.abc import Iterable
from typing import Any, BinaryIO, Protocol

Settings = dict[str, Any]
PARENT_PERIOD = 0.5
"""Seconds between two looks at whether the parent is still there."""
_BOUNDS = {
    "dag-maps-huge-region": (200, 1000),
    "dag-maps-reduction-size": (100, 0),
    "grow-region-complexity-budget": (500, 10_000),
}
"""How much LLVM compares exactly, here and by its own default: memory accesses of one block when it orders them (the
second: how many are dropped at once), blocks that one value lives in when it splits its register. Both are quadratic;
kernels have blocks of thousands of accesses, and constants that live in thousands of blocks."""
_SPIRV = "spirv"
_SPIRV_EXTENSION = "+SPV_EXT_shader_atomic_float_add"
"""Of SPIR-V modules that need it. It is an option of the process, which no request can change."""
_ODD_INTEGER = re.compile(r'(?<![\w%@."$-])i(?!(?:1|8|16|32|64)\b)\d+\b(?!:)')
_BLOCK = "; preds ="
"""What LLVM writes where a block begins that others lead to."""
_MOST_BLOCKS = 1_000
"""In more blocks no constant waits in a register for the turns of the loop around them: each would live in all of them,
which takes the square of their number and spills whatever it is."""


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message, or None when the other side is gone."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "little")
    body = stream.read(size)
    return body if len(body) == size else None


def write_message(stream: BinaryIO, body: bytes) -> None:
    """Send one message; the caller flushes."""
    stream.write(len(body).to_bytes(8, "little"))
    stream.write(body)


class LlvmSymbol(Protocol):
    """A function or variable of LLVM."""

    name: str
    is_declaration: bool
    linkage: Any


class LlvmModule(Protocol):
    """What is asked of llvmlite's modules, which carry no types; `llvm` itself, its `binding`, stays without."""

    triple: str
    data_layout: str

    @property
    def functions(self) -> Iterable[LlvmSymbol]: ...
    @property
    def global_variables(self) -> Iterable[LlvmSymbol]: ...
    def as_bitcode(self) -> bytes: ...
    def clone(self) -> LlvmModule: ...
    def link_in(self, other: LlvmModule) -> None: ...
    def verify(self) -> None: ...


class TargetMachine(Protocol):
    """One processor, as LLVM generates code for it."""

    @property
    def triple(self) -> str: ...
    @property
    def target_data(self) -> object: ...
    def emit_assembly(self, module: LlvmModule) -> str: ...
    def emit_object(self, module: LlvmModule) -> bytes: ...
    def set_asm_verbosity(self, verbose: bool) -> None: ...


class Library:
    """A file of bitcode, of which modules get only what they declare: adding all of it takes 20 times as long."""

    def __init__(self, llvm: Any, path: str) -> None:
        self._llvm = llvm
        with open(path, "rb") as file:
            self._bitcode = file.read()
        self._unused: LlvmModule | None = llvm.parse_bitcode(self._bitcode)
        self._names = frozenset(f.name for f in self._unused.functions if not f.is_declaration)
        self._pruned: dict[frozenset[str], bytes] = {}

    def add_to(self, module: LlvmModule, machine: TargetMachine) -> None:
        """Define the functions that the module declares; they are its own then, and go where they are inlined."""
        wanted = self._names & {f.name for f in module.functions if f.is_declaration}
        if not wanted:
            return
        if wanted not in self._pruned:
            self._pruned[wanted] = self._only(wanted, machine)
        part: LlvmModule = self._llvm.parse_bitcode(self._pruned[wanted])
        part.triple, part.data_layout = module.triple, module.data_layout
        module.link_in(part)
        for function in module.functions:
            if function.name in wanted:
                function.linkage = "internal"

    def _only(self, wanted: frozenset[str], machine: TargetMachine) -> bytes:
        """The functions and what they call, as bitcode. The rest is lost: reading all of it again is no slower than
        a copy, and most programs need one part only.
        """
        part: LlvmModule = self._unused or self._llvm.parse_bitcode(self._bitcode)
        self._unused = None
        for value in (*part.functions, *part.global_variables):
            if not value.is_declaration and value.name not in wanted:
                value.linkage = "internal"
        passes = self._llvm.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        tuning = self._llvm.create_pipeline_tuning_options()
        passes.run(part, self._llvm.create_pass_builder(machine, tuning))
        return bytes(part.as_bitcode())


class Compiler:
    """LLVM with its target machines kept between requests: creating one costs more than a small compilation."""

    def __init__(self, llvm: Any) -> None:
        self._llvm = llvm
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        llvm.initialize_native_asmparser()
        llvm.set_option("llvm", "-nvptx-short-ptr")  # addresses of all but global memory have 32 bits
        llvm.set_option("llvm", f"-spirv-ext={_SPIRV_EXTENSION}")
        self._host = {"cpu": llvm.get_host_cpu_name(), "features": llvm.get_host_cpu_features().flatten()}
        self._machines: dict[tuple[str, str, str, int, bool], TargetMachine] = {}
        self._libraries: dict[str, Library] = {}

    def compile(self, settings: Settings, text: str) -> list[bytes]:
        """Optimise once, then emit each part that `settings["emit"]` names.

        A machine remembers the addresses of what `llvm.used` lists, and would mark what another module has there: it
        serves no other.
        """
        machine = self._machine(settings)
        machine.set_asm_verbosity(settings["comments"])
        self._set_options(settings, text.count(_BLOCK))
        module: LlvmModule = self._llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
        self._join(module, settings)
        for path in settings["libraries"]:
            self._library(path).add_to(module, machine)
        self._optimise(module, machine, settings)
        if any(value.name == "llvm.used" for value in module.global_variables):
            self._machines.clear()
        if settings["triple"].startswith(_SPIRV):
            _check_integers(str(module))
        *first, last = settings["emit"]
        # Emission rewrites the module it is given, so all but the last part are emitted from copies.
        return [self._emit(machine, module.clone(), part) for part in first] + [self._emit(machine, module, last)]

    def _join(self, module: LlvmModule, settings: Settings) -> None:
        """One module of several, which LLVM then optimises as one; what nobody else is to see becomes its own."""
        for text in settings["modules"]:
            other: LlvmModule = self._llvm.parse_assembly(text)
            other.triple, other.data_layout = module.triple, module.data_layout
            other.verify()
            module.link_in(other)
        if settings["exports"]:
            for value in (*module.functions, *module.global_variables):
                is_open = value.linkage.name == "external" and not value.is_declaration
                if is_open and value.name not in settings["exports"]:
                    value.linkage = "internal"

    def _set_options(self, settings: Settings, blocks: int) -> None:
        """Options hold for the whole process: each request says all of them."""
        is_host = settings["triple"] == "host"
        many = is_host and blocks > _MOST_BLOCKS
        self._llvm.set_option("llvm", f"-disable-lsr={'false' if settings['strength_reduction'] else 'true'}")
        self._llvm.set_option("llvm", f"-disable-machine-licm={'true' if many else 'false'}")
        for name, (bounded, default) in _BOUNDS.items():
            self._llvm.set_option("llvm", f"-{name}={bounded if is_host else default}")

    def _library(self, path: str) -> Library:
        if path not in self._libraries:
            self._libraries[path] = Library(self._llvm, path)
        return self._libraries[path]

    def _machine(self, settings: Settings) -> TargetMachine:
        host = settings["triple"] == "host"
        llvm = self._llvm
        triple = llvm.get_process_triple() if host else settings["triple"]
        cpu, features = (self._host[name] if settings[name] == "host" else settings[name] for name in self._host)
        linked = settings["position_independent"]
        key = (triple, cpu, features, settings["opt_level"], linked)
        if key not in self._machines:
            model = {"reloc": "pic", "codemodel": "small"} if linked else {"jit": host}
            self._machines[key] = llvm.Target.from_triple(triple).create_target_machine(
                cpu=cpu, features=features, opt=settings["opt_level"], **model
            )
        return self._machines[key]

    def _optimise(self, module: LlvmModule, machine: TargetMachine, settings: Settings) -> None:
        if settings["opt_level"] == 0 and not _needs_passes(module, settings):
            return
        tuning = self._llvm.create_pipeline_tuning_options(speed_level=settings["opt_level"])
        tuning.loop_vectorization = tuning.slp_vectorization = settings["vectorize"]
        builder = self._llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)

    def _emit(self, machine: TargetMachine, module: LlvmModule, part: str) -> bytes:
        if part == "object":
            return bytes(machine.emit_object(module))
        if part == "assembly":
            return str(machine.emit_assembly(module)).encode()
        raise ValueError(f"cannot emit {part!r}: only 'object' and 'assembly'")


def _check_integers(text: str) -> None:
    """LLVM's SPIR-V back end widens other integers to the next of these and does not mask what is above their bits."""
    found = _ODD_INTEGER.search(text)
    if found:
        raise ValueError(f"a module for SPIR-V has integers of type {found[0]}, which LLVM compiles to wrong code")


def _needs_passes(module: LlvmModule, settings: Settings) -> bool:
    """LLVM selects instructions for all but coroutines and the questions of libraries about the target."""
    return bool(settings["libraries"]) or any("presplitcoroutine" in str(f) for f in module.functions)


def answer(compiler: Compiler, request: bytes, text: bytes) -> tuple[dict[str, Any], bytes]:
    """The head and body of the answer to one request; an ordinary LLVM error is an answer, not an end."""
    settings: Settings = json.loads(request)
    if settings["triple"].startswith(_SPIRV) and sys.platform != "win32":
        return _answer_of_child(compiler, settings, text)
    return _answer(compiler, settings, text)


def _answer_of_child(compiler: Compiler, settings: Settings, text: bytes) -> tuple[dict[str, Any], bytes]:
    """LLVM's SPIR-V back end keeps what it knows of a module beyond the target machine, by addresses that the next
    module may have again, and then writes that one wrong: each module gets a process in which it is the first."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as answers:
            facts, parts = _answer(compiler, settings, text)
            write_message(answers, json.dumps(facts).encode())
            write_message(answers, parts)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        head, body = read_message(answers), read_message(answers)
    _, status = os.waitpid(child, 0)
    if head is None or body is None:
        return {"error": f"LLVM ended its process (status {os.waitstatus_to_exitcode(status)})"}, b""
    return json.loads(head), body


def _answer(compiler: Compiler, settings: Settings, text: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        parts = compiler.compile(settings, text.decode())
    except Exception as error:
        return {"error": str(error)}, b""
    return {"sizes": [len(part) for part in parts]}, b"".join(parts)


def serve(requests: BinaryIO, answers: BinaryIO, compiler: Compiler) -> None:
    """Answer requests until the parent closes the pipe."""
    while True:
        request, text = read_message(requests), read_message(requests)
        if request is None or text is None:
            return
        head, body = answer(compiler, request, text)
        write_message(answers, json.dumps(head).encode())
        write_message(answers, body)
        answers.flush()


def end_with(parent: int) -> None:
    """End when the parent has, even while LLVM works. A forked child of the parent may still hold the pipe open."""
    while os.getppid() == parent:
        time.sleep(PARENT_PERIOD)
    os._exit(0)


def main() -> None:
    """Take over stdout for answers, send what LLVM prints to stderr, and serve.

    An interrupt typed at the terminal reaches every process of the group; it is meant for the user's program.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start_new_thread(end_with, (int(sys.argv[2]),))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.path.insert(0, sys.argv[1])
    serve(sys.stdin.buffer, answers, Compiler(__import__("llvmlite.binding").binding))


if __name__ == "__main__":
    main()

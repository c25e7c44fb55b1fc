"""C interface of an exported function, and its header: parameters, which extents and strides a caller gives, codes.

Input: the leaves of the compiled signature. Output: a `CFunction`, from which the header, the entry and the loader are
made, so that they cannot differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from triptych.ir.modules import leaves_text, read_leaves
from triptych.stages import Leaf, Memory
from triptych.support.dataclass import dataclass
from triptych.targets.cpu.calling.scalars import SCALARS, BoundaryScalar

# Export ABI codes: the numbers between exported objects and the programs that call them.

ABI_VERSION = 1
"""Of what header, object and loader agree on: structures, codes and the functions of a module."""
OK, BAD_ARGUMENT, FAILED, ABI_MISMATCH, NOT_LOADED, NO_DEVICE = range(6)
CODES = {
    "TRIPTYCH_OK": (OK, "done"),
    "TRIPTYCH_BAD_ARGUMENT": (BAD_ARGUMENT, "an argument is not what the function was compiled for; nothing has run"),
    "TRIPTYCH_FAILED": (FAILED, "a check of the program failed while it ran"),
    "TRIPTYCH_ABI_MISMATCH": (ABI_MISMATCH, "header or loader and object are not of the same export or version"),
    "TRIPTYCH_NOT_LOADED": (NOT_LOADED, "the module was not loaded, or is unloaded already"),
    "TRIPTYCH_NO_DEVICE": (NO_DEVICE, "the machine cannot run the code: no driver, no GPU, or another CPU or GPU"),
}
"""What each result of a wrapper means."""
UNCHECKED = 1
"""A flag of a call: layouts are taken as they are given."""


def share_symbol(name: str) -> str:
    """Of an exported function: takes keys of threads that objects of one process have in common."""
    return f"{name}_triptych_share"


def pattern_symbol(name: str) -> str:
    """Of a function for TVM FFI: the text that says how calls are made of its parameters."""
    return f"{name}_triptych_pattern"


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


# C header of an exported function: structures of tensors, the functions of its module, a typed wrapper.
#
# It is C99 and C++. Names are those that programs for the public CuTe DSL use; what is ours begins with the prefix too.

_C_TYPES = {
    "Boolean": "bool",
    "Int4": "int8_t",
    **{f"Int{width}": f"int{width}_t" for width in (8, 16, 32, 64)},
    **{f"Uint{width}": f"uint{width}_t" for width in (8, 16, 32, 64)},
    "Float16": "uint16_t",
    "BFloat16": "uint16_t",
    "Float32": "float",
}
"""Of scalars; 16-bit floats are given by their bits, and narrower ones as `double`, to be rounded."""


def c_type(parameter: CParameter, prefix: str) -> str:
    """The C type of one parameter of the wrapper."""
    if parameter.is_tensor:
        return f"{prefix}_Tensor_{parameter.name}_t *"
    return "void *" if parameter.is_pointer else f"{scalar_type(parameter.leaf.dtype)} "


def scalar_type(dtype: str) -> str:
    """The C type of a number."""
    return _C_TYPES.get(dtype, "double")


def header(function: CFunction, signature: str) -> str:
    """The text of the `.h` file."""
    prefix = function.prefix
    guard = f"TRIPTYCH_EXPORT_{prefix}_H"
    tensors = "".join(_tensor(parameter, prefix) for parameter in function.parameters if parameter.is_tensor)
    return f"""/* {signature}
 * Made by Triptych for the target {function.target}, together with the object file of the same name. */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

{_shared()}
#ifdef __cplusplus
extern "C" {{
#endif

{tensors}{_module(prefix, function)}
{_wrapper(function)}
#ifdef __cplusplus
}}
#endif
#endif
"""


def _shared() -> str:
    codes = "".join(f"#define {name} {code} /* {meaning} */\n" for name, (code, meaning) in CODES.items())
    return f"""#ifndef TRIPTYCH_ABI_VERSION
#define TRIPTYCH_ABI_VERSION {ABI_VERSION}
{codes}/* Runs task(argument, 0) to task(argument, count - 1), on any threads, and returns when all have returned. */
typedef void (*triptych_task_t)(void *argument, int64_t index);
typedef void (*triptych_parallel_for_t)(void *context, int64_t count, triptych_task_t task, void *argument);
#elif TRIPTYCH_ABI_VERSION != {ABI_VERSION}
#error "headers of different versions of Triptych in one program: export all functions again"
#endif
"""


def _tensor(parameter: CParameter, prefix: str) -> str:
    assert parameter.memory is not None, "the parameter is a tensor"
    shapes, strides = parameter.shapes, parameter.strides
    fields = [f"  void *data; /* {parameter.leaf.dtype}, {parameter.memory.alignment}-byte aligned */"]
    if shapes:
        fields.append(f"  int32_t dynamic_shapes[{len(shapes)}]; /* of modes {_listed(shapes)} */")
    if strides:
        fields.append(f"  int64_t dynamic_strides[{len(strides)}]; /* of modes {_listed(strides)}, in elements */")
    body = "\n".join(fields)
    return f"/* {parameter.leaf.type_text} */\ntypedef struct {{\n{body}\n}} {prefix}_Tensor_{parameter.name}_t;\n\n"


def _listed(modes: tuple[int, ...]) -> str:
    return ", ".join(map(str, modes))


def _module(prefix: str, function: CFunction) -> str:
    module = f"{prefix}_Kernel_Module_t"
    return f"""typedef struct {{
  uint64_t interface;
  void *handle;
}} {module};

/* The version of the object file, to compare with TRIPTYCH_ABI_VERSION. */
uint32_t {prefix}_abi_version(void);
uint32_t triptych_abi_version(void);
/* What went wrong in the last call of this thread that did not give TRIPTYCH_OK. */
const char *{prefix}_error_text(void);
/* Threads that run the blocks of kernels, the calling one included; 0 for as many as there are cores. */
void {prefix}_set_threads(int32_t threads);
/* The host's own threads instead; NULL for ours again. Kernels whose blocks wait for each other have their own always.
 * Both settings are those of all exported functions in the same executable or shared library. */
void {prefix}_set_parallel_for(triptych_parallel_for_t run, void *context);

int32_t {prefix}_triptych_load({module} *module, uint32_t abi, uint64_t interface);
int32_t {prefix}_triptych_unload({module} *module);
int32_t {prefix}_triptych_call({module} *module, void **arguments, int32_t flags);

static inline int32_t {prefix}_Kernel_Module_Load({module} *module) {{
  return {prefix}_triptych_load(module, TRIPTYCH_ABI_VERSION, UINT64_C(0x{function.interface:016x}));
}}
/* Of the last module, also ends the threads: the library may be unloaded then. */
static inline int32_t {prefix}_Kernel_Module_Unload({module} *module) {{
  return {prefix}_triptych_unload(module);
}}
"""


def _wrapper(function: CFunction) -> str:
    prefix = function.prefix
    parameters = [f"{c_type(parameter, prefix)}{parameter.name}" for parameter in function.parameters]
    given = [p.name if p.is_tensor else f"&{p.name}" for p in function.parameters]
    if function.result is not None:
        parameters.append(f"{scalar_type(function.result.dtype)} *result")
        given.append("result")
    listed = ", ".join([f"{prefix}_Kernel_Module_t *module", *parameters])
    return f"""static inline int32_t cute_dsl_{prefix}_wrapper({listed}) {{
  void *arguments[] = {{{", ".join(f"(void *){name}" for name in given) or "NULL"}}};
  return {prefix}_triptych_call(module, arguments, 0);
}}
"""

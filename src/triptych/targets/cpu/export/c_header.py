"""C header of an exported function: structures of tensors, the functions of its module, a typed wrapper.

It is C99 and C++. Names are those that programs for the public CuTe DSL use; what is ours begins with the prefix too.
"""

from __future__ import annotations

from triptych.targets.cpu.export.c_interface import CFunction, CParameter
from triptych.targets.cpu.export.codes import ABI_VERSION, CODES

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
    assert parameter.memory is not None
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

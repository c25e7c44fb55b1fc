"""Example reader, the first half of `triptych import EXAMPLE.py`: what a public example has, by line.

The example is read as syntax. Names of functions and line numbers are kept, the defaults of its command line, and the
numbers that it gives to tiles, stages, warps and the like; nothing else of it is taken.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

from triptych.support.dataclass import dataclass
from triptych.support.wording import did_you_mean_file
from triptych.workbench.errors import FolderError

CHECKLIST: dict[str, dict[str, str]] = {
    "Host": {
        "descriptors": r"make_tiled_tma_atom\w*|make_tma\w*|\w*TmaInfo|get_tma_atom\w*",
        "grid": r"ceil_div|get_grid_shape|\w*TileScheduler\w*|compute_grid",
        "cluster": r"cluster\w*|make_cluster\w*|map_dsmem_ptr|mapa",
        "shared memory": r"SmemAllocator|cosize\w*|smem_size\w*|struct|MemRange|allocate\w*|size_in_bytes",
    },
    "Device": {
        "roles": r"thread_idx|block_idx|warp_idx|lane_idx|make_warp_uniform|elect_one|setmaxregister\w*|warpgroup\w*",
        "stages": r"Pipeline\w+|make_pipeline_state|producer_\w+|consumer_\w+|cp_async_(commit|wait)_group",
        "barriers": r"mbarrier\w*|sync_threads|sync_warp|barrier\w*|NamedBarrier|arrive_and_wait|"
        r"cluster_(arrive|wait)\w*|fence\w*",
        "copies": r"copy|autovec_copy|basic_copy\w*|make_copy_atom|make_tiled_copy\w*|CopyG2SOp|(Ld|St)Matrix\w+|"
        r"CopyBulk\w+|load|store",
        "products": r"gemm|make_tiled_mma|make_mma_atom|make_trivial_tiled_mma|Mma\w+Op|\w*MmaOp",
        "layouts": r"make_(composed_|ordered_|identity_)?layout\w*|make_smem_layout\w*|make_swizzle|tile_to_shape|"
        r"composition|local_tile|zipped_divide|logical_divide|flat_divide",
    },
}
"""What a reader looks for, and the public names that show it."""
_LAUNCH = {"grid": "grid", "cluster": "cluster", "smem": "shared memory"}
"""Words of a launch, and what they say something of."""
_INPUTS = (
    r"randn?|randint|empty\w*|full\w*|zeros\w*|ones\w*|arange|from_dlpack|create_\w*tensors?|matrix|cute_tensor_like|"
    r"make_fake\w*"
)
_REFERENCES = (
    r"einsum|matmul|bmm|mm|softmax|silu|assert_close|assert_allclose|allclose|equal|scaled_dot_product_attention|relu|"
    r"layer_norm|rms_norm"
)
_TYPES = re.compile(r"T?BFloat16|T?Float(16|32|64|8E\w+|4E\w+|6E\w+)|TFloat32|Int(4|8|16|32|64)|Uint(8|16|32|64)")
_TILING = re.compile(
    r"tile|^thr_|^val_|tiler|stage|warp|thread|cluster|atom_layout|block_size|blk|unroll|vector|swizzle|raster"
)
_MEASURING = re.compile(r"warmup|iteration|repeat|benchmark|cold_l2|tolerance|seed|export|print|verbose|skip|num_tests")
"""Options of how an example is checked and timed, which are no part of a problem."""


@dataclass(slots=True)
class Reading:
    """What was found, by line."""

    file: str
    hosts: dict[str, int] = field(default_factory=dict)
    """Functions that launch."""
    helpers: dict[str, int] = field(default_factory=dict)
    """Compiled functions that do not."""
    kernels: dict[str, int] = field(default_factory=dict)
    launches: list[tuple[int, list[str]]] = field(default_factory=list)
    """Lines of launches, and what they say of the launch."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of its command line, with defaults that are numbers, words or tuples of numbers."""
    types: dict[str, str] = field(default_factory=dict)
    """Options of its command line that are element types."""
    elements: dict[str, list[int]] = field(default_factory=dict)
    """Element types that it names elsewhere, by line."""
    tiling: dict[str, tuple[int, Any]] = field(default_factory=dict)
    """Numbers that the program itself gives to tiles, stages, warps: by name, with the line."""
    constants: dict[str, Any] = field(default_factory=dict)
    """Names in capitals that the program gives to numbers and tuples of them."""
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """By topic: names, each with its lines."""
    inputs: dict[str, list[int]] = field(default_factory=dict)
    references: dict[str, list[int]] = field(default_factory=dict)

    def parts(self) -> dict[str, bool]:
        """Which parts of a plan were found."""
        return {
            "kernel": bool(self.kernels),
            "host function": bool(self.hosts),
            "launch": bool(self.launches),
            "dimensions": any(type(value) in (int, tuple) for name, value in self.problem().items()),
            "types": bool(self.types or self.elements) or any("dtype" in name for name in self.options),
            "inputs": bool(self.inputs),
            "reference": bool(self.references),
            "tiling": bool(self.choices()),
        }

    def problem(self) -> dict[str, Any]:
        """Options that say which problem."""
        return {name: value for name, value in self.options.items() if not _TILING.search(name)}

    def choices(self) -> dict[str, Any]:
        """Options and numbers that say how it is cut up."""
        own = {name: value for name, (_, value) in self.tiling.items()}
        return own | {name: value for name, value in self.options.items() if _TILING.search(name)}

    def needs(self) -> str:
        """The architecture that its instructions ask for."""
        names = {name for found in self.lines.values() for name in found}
        return "sm_90a" if "descriptors" in self.lines or any("warpgroup" in name for name in names) else "sm_80"

    def add(self, topic: str, name: str, line: int) -> None:
        self.lines.setdefault(topic, {}).setdefault(name, []).append(line)


def read_example(path: Path) -> Reading:
    """Read a file as syntax."""
    expected = "a Python file written for the public CuTe DSL"
    if path.is_dir() or (path.exists() and path.suffix != ".py"):
        what = "a folder" if path.is_dir() else "no Python file"
        raise FolderError(f"{path} is {what} and no example", expected=expected)
    if not path.exists():
        raise FolderError(f"there is no example {path}", expected=expected, instead=did_you_mean_file(path))
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise FolderError(f"{path} is no Python file: {error}", expected="a Python file") from None
    found = Reading(path.name)
    for node in ast.walk(tree):  # outer statements first: constants are known where functions use them
        if isinstance(node, ast.FunctionDef):
            _function(node, found)
        elif isinstance(node, ast.Call):
            _call(node, found)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            _assignment(node, found)
        elif isinstance(node, ast.ClassDef) and "struct" in map(_last_name, node.decorator_list):
            found.add("shared memory", "struct", node.lineno)
        elif isinstance(node, ast.Attribute) and _TYPES.fullmatch(node.attr):
            found.elements.setdefault(node.attr, []).append(node.lineno)
        elif isinstance(node, ast.If) and _is_role(node.test):
            found.add("roles", "if", node.lineno)
        elif isinstance(node, ast.Assert) and not _in_device_code(node, found, tree):
            found.references.setdefault("assert", []).append(node.lineno)
    return found


def _function(node: ast.FunctionDef, found: Reading) -> None:
    decorators = {_last_name(decorator) for decorator in node.decorator_list}
    if "kernel" in decorators:
        found.kernels[node.name] = node.lineno
    elif "jit" in decorators:
        launches = any(isinstance(part, ast.Call) and _last_name(part) == "launch" for part in ast.walk(node))
        (found.hosts if launches else found.helpers)[node.name] = node.lineno
    if node.name == "__init__":
        given = node.args.args[len(node.args.args) - len(node.args.defaults) :]
        for argument, default in zip(given, node.args.defaults, strict=True):
            _tile(argument.arg, default, node.lineno, found)


def _assignment(node: ast.Assign | ast.AnnAssign, found: Reading) -> None:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Name | ast.Attribute) and node.value is not None:
            _tile(_last_name(target), node.value, node.lineno, found)


def _tile(name: str, value: ast.expr, line: int, found: Reading) -> None:
    """A number, or a tuple of numbers, under a name that says how a problem is cut up."""
    if isinstance(value, ast.Call) and re.fullmatch(r"make_(ordered_)?layout", _last_name(value)) and value.args:
        value = value.args[0]
    number = _number(value, found)
    if type(number) not in (int, tuple) or number in (0, ()):
        return
    if name.isupper():
        found.constants[name] = number
    if _TILING.search(name.lower()) and not (name.isupper() and name.startswith("_")):
        found.tiling.setdefault(name.lstrip("_"), (line, number))


def _number(value: ast.expr, found: Reading) -> Any:
    """A literal, a constant of the program by its name, or what an expression is where its condition does not hold."""
    if isinstance(value, ast.IfExp):
        return _number(value.orelse, found)
    if isinstance(value, ast.Name | ast.Attribute):
        return found.constants.get(_last_name(value))
    return _literal(value)


def _is_role(test: ast.expr) -> bool:
    """A condition on the number of a warp or of a group of them."""
    names = (_last_name(part) for part in ast.walk(test) if isinstance(part, ast.Name | ast.Attribute))
    return any(re.search(r"warp_idx|warp_group|warpgroup|is_\w*warp|warp_id", name) for name in names)


def _in_device_code(node: ast.Assert, found: Reading, tree: ast.Module) -> bool:
    """Whether an assertion stands in a kernel, or in a helper: it checks a type there, not a result."""
    names = {**found.kernels, **found.helpers, **found.hosts}
    return any(
        isinstance(one, ast.FunctionDef) and one.name in names and one.lineno <= node.lineno <= (one.end_lineno or 0)
        for one in ast.walk(tree)
    )


def _call(node: ast.Call, found: Reading) -> None:
    name = _last_name(node)
    if name == "launch":
        words = [str(word.arg) for word in node.keywords]
        found.launches.append((node.lineno, words))
        for word in node.keywords:
            if word.arg in _LAUNCH and not isinstance(word.value, ast.Constant):
                found.add(_LAUNCH[word.arg], f"launch({word.arg}=)", word.value.lineno)
    elif name == "add_argument":
        for option, value in _option(node):
            (found.types if isinstance(value, ast.expr) else found.options)[option] = (
                _last_name(value) if isinstance(value, ast.expr) else value
            )
    for form, kept in ((_INPUTS, found.inputs), (_REFERENCES, found.references)):
        if re.fullmatch(form, name):
            kept.setdefault(name, []).append(node.lineno)
    for topics in CHECKLIST.values():
        for topic, form in topics.items():
            shown = next((one for one in (name, _owner(node)) if re.fullmatch(form, one)), "")
            if shown:
                found.add(topic, shown, node.lineno)


def _option(node: ast.Call) -> Iterator[tuple[str, Any]]:
    """An option of the command line with its default: a literal, or a name, which is that of a type."""
    words = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    for keyword in node.keywords if words else ():
        if keyword.arg != "default" or _MEASURING.search(words[-1]):
            continue
        name, value = words[-1].lstrip("-").replace("-", "_"), _literal(keyword.value)
        if isinstance(value, int | float | str | tuple):
            yield name, value
        elif isinstance(keyword.value, ast.Attribute):
            yield name, keyword.value


def _literal(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except ValueError:  # an expression, such as a type
        return None
    return tuple(value) if isinstance(value, list) else value


def _owner(node: ast.Call) -> str:
    """`PipelineTmaAsync` of `pipeline.PipelineTmaAsync.create(...)`: a class that is asked for an object."""
    owner = _last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    return owner if owner[:1].isupper() else ""


def _last_name(node: ast.AST) -> str:
    """`copy` of `cute.copy(...)` and of `cute.copy`."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")

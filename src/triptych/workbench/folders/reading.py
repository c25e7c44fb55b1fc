"""`triptych import EXAMPLE.py`: what a public example has, by line, and a plan whose known parts are filled.

The example is read as syntax and never run. Names of functions and line numbers go into the sheet, and the defaults of
its command line into the plan; nothing else of it is taken.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triptych.workbench.errors import FolderError

CHECKLIST: dict[str, dict[str, str]] = {
    "Host": {
        "descriptors": r"make_tiled_tma_atom\w*|make_tma\w*|\w*TmaInfo|get_tma_atom\w*",
        "grid": r"ceil_div|get_grid_shape|\w*TileScheduler\w*|compute_grid",
        "cluster": r"cluster\w*|make_cluster\w*",
        "shared memory": r"SmemAllocator|cosize\w*|smem_size\w*|struct|MemRange|allocate_tensor|size_in_bytes",
    },
    "Device": {
        "roles": r"thread_idx|block_idx|warp_idx|lane_idx|make_warp_uniform|elect_one|setmaxregister\w*|warpgroup\w*",
        "stages": r"Pipeline\w+|make_pipeline_state|producer_\w+|consumer_\w+|cp_async_(commit|wait)_group",
        "barriers": r"mbarrier\w*|sync_threads|sync_warp|barrier\w*|NamedBarrier|cluster_(arrive|wait)\w*|fence\w*",
        "copies": r"copy|autovec_copy|basic_copy\w*|make_copy_atom|make_tiled_copy\w*|CopyG2SOp|(Ld|St)Matrix\w+",
        "products": r"gemm|make_tiled_mma|make_mma_atom|make_trivial_tiled_mma|Mma\w+Op|\w*MmaOp",
        "layouts": r"make_(composed_)?layout\w*|make_swizzle|tile_to_shape|composition|local_tile|zipped_divide",
    },
}
"""What a reader looks for, and the public names that show it."""
_INPUTS = r"randn?|randint|empty\w*|zeros\w*|ones\w*|from_dlpack|create_and_permute_tensor|matrix|cute_tensor_like"
_REFERENCES = r"einsum|matmul|bmm|mm|softmax|assert_close|allclose|scaled_dot_product_attention|relu|layer_norm"


@dataclass(slots=True)
class Reading:
    """What was found, by line."""

    file: str
    hosts: dict[str, int] = field(default_factory=dict)
    kernels: dict[str, int] = field(default_factory=dict)
    launches: list[tuple[int, list[str]]] = field(default_factory=list)
    """Lines of launches, and what they say of the launch."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of its command line, with defaults that are numbers, words or tuples of numbers."""
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
            "dimensions": any(type(value) in (int, tuple) for value in self.options.values()),
            "inputs": bool(self.inputs),
            "reference": bool(self.references),
            "tiling": any("tile" in name or "stage" in name for name in self.options) or "stages" in self.lines,
        }


def read_example(path: Path) -> Reading:
    """Read a file as syntax."""
    if not path.is_file():
        raise FolderError(f"there is no example {path}", expected="a Python file written for the public CuTe DSL")
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    found = Reading(path.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for kind, names in (("jit", found.hosts), ("kernel", found.kernels)):
                if any(_last_name(decorator) == kind for decorator in node.decorator_list):
                    names[node.name] = node.lineno
        elif isinstance(node, ast.Call):
            _call(node, found)
    return found


def _call(node: ast.Call, found: Reading) -> None:
    name = _last_name(node)
    if name == "launch":
        found.launches.append((node.lineno, [str(word.arg) for word in node.keywords]))
    elif name == "add_argument":
        found.options |= dict(_option(node))
    for form, kept in ((_INPUTS, found.inputs), (_REFERENCES, found.references)):
        if re.fullmatch(form, name):
            kept.setdefault(name, []).append(node.lineno)
    for topics in CHECKLIST.values():
        for topic, form in topics.items():
            if re.fullmatch(form, name):
                found.lines.setdefault(topic, {}).setdefault(name, []).append(node.lineno)


def _option(node: ast.Call) -> Iterator[tuple[str, Any]]:
    words = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    for keyword in node.keywords if words else ():
        if keyword.arg == "default":
            try:
                value = ast.literal_eval(keyword.value)
            except ValueError:  # an expression, such as a type
                continue
            value = tuple(value) if isinstance(value, list) else value
            if isinstance(value, int | float | str | tuple):
                yield words[-1].lstrip("-").replace("-", "_"), value


def _last_name(node: ast.AST) -> str:
    """`copy` of `cute.copy(...)` and of `cute.copy`."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def sheet(found: Reading) -> str:
    """The reading sheet, as Markdown."""
    lines = [f"# Reading {found.file}", "", "Line numbers are those of the example, which is not copied here.", ""]
    lines += [f"- host functions: {_named(found.hosts)}", f"- kernels: {_named(found.kernels)}"]
    lines += [f"- launch at line {line}: {', '.join(words) or 'nothing said'}" for line, words in found.launches]
    for side, topics in CHECKLIST.items():
        lines += ["", f"## {side}", "", "| topic | names and lines |", "|---|---|"]
        lines += [f"| {topic} | {_lines_of(found.lines.get(topic, {}))} |" for topic in topics]
    lines += ["", "## Parts of a plan", "", "| part | found |", "|---|---|"]
    lines += [f"| {part} | {'yes' if there else 'no'} |" for part, there in found.parts().items()]
    lines += ["", "What each kernel takes of a GPU:", ""]
    lines += [f"    triptych run --target nvptx:sm_80 --compile-only {found.file}", ""]
    return "\n".join(lines)


def plan_text(found: Reading, name: str) -> str:
    """A `KernelPlan` with the dimensions of the example's command line; the rest says what is to be written."""
    rows = [f"    {option}: {type(value).__name__} = {value!r}" for option, value in found.options.items()]
    made = "".join(part.capitalize() for part in name.split("_"))
    return _PLAN.format(
        name=name,
        made=made,
        file=found.file,
        fields="\n".join(rows) or "    ...  # the dimensions of the problem",
        inputs=_lines_of(found.inputs) or "not found",
        references=_lines_of(found.references) or "not found",
        hosts=_named(found.hosts),
    )


def import_example(root: Path, example: Path, layer: str) -> Path:
    """A folder with the plan and the sheet; the folder."""
    found = read_example(example)
    name = re.sub(r"\W", "_", example.stem)
    folder = (root / layer if layer else root) / name / name
    if folder.exists():
        raise FolderError(f"{folder} is there already", expected="a folder that is not there")
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(f'"""{name}, read from a public example."""\n', encoding="utf-8")
    (folder / f"{name}.py").write_text(plan_text(found, name), encoding="utf-8")
    (folder / "READING.md").write_text(sheet(found), encoding="utf-8")
    return folder


def _named(names: dict[str, int]) -> str:
    return ", ".join(f"`{name}` (line {line})" for name, line in names.items()) or "none"


def _lines_of(names: dict[str, list[int]]) -> str:
    return "; ".join(f"{name} {', '.join(map(str, sorted(set(lines))))}" for name, lines in sorted(names.items()))


_PLAN = '''"""{name}: a plan after the public example {file}. What is `...` is yours to write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triptych.workbench import CuteKernel, KernelPlan


@dataclass
class {made}(KernelPlan):
    """The dimensions and choices of the example's command line."""

{fields}

    def prepare_inputs(self, seed: int = 0) -> list[Any]:
        """Tensors of these dimensions. In the example: {inputs}."""
        ...

    def reference(self, *inputs: Any) -> Any:
        """What it should compute. In the example: {references}."""
        ...

    def plan(self, *inputs: Any) -> CuteKernel:
        """Call the host function with these inputs. In the example: {hosts}."""
        ...


if __name__ == "__main__":
    {made}().benchmark_kernel_argparse()
'''

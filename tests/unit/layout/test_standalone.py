"""The package works with nothing else installed, and offers every public name of the algebra."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from triptych import layout as tl

PACKAGE = Path(tl.__file__).parent

NAMES = [
    "make_layout",
    "make_ordered_layout",
    "make_identity_layout",
    "make_layout_like",
    "make_composed_layout",
    "make_swizzle",
    "make_layout_tv",
    "make_layout_image_mask",
    "tile_to_shape",
    "recast_layout",
    "size",
    "cosize",
    "rank",
    "depth",
    "shape",
    "stride",
    "leading_dim",
    "get",
    "select",
    "is_congruent",
    "is_weakly_congruent",
    "crd2idx",
    "idx2crd",
    "increment_coord",
    "slice_",
    "dice",
    "slice_and_offset",
    "domain_offset",
    "get_hier_coord",
    "get_flat_coord",
    "elem_less",
    "coalesce",
    "composition",
    "complement",
    "right_inverse",
    "left_inverse",
    "nullspace",
    "logical_divide",
    "zipped_divide",
    "tiled_divide",
    "flat_divide",
    "logical_product",
    "zipped_product",
    "tiled_product",
    "flat_product",
    "blocked_product",
    "raked_product",
    "max_common_layout",
    "max_common_vector",
    "filter",
    "filter_zeros",
    "local_tile",
    "local_partition",
    "group_modes",
    "flatten",
    "append",
    "prepend",
    "append_ones",
    "repeat",
    "repeat_like",
    "ceil_div",
    "round_up",
    "shape_div",
    "product",
    "product_each",
    "product_like",
    "transform_leaf",
    "assume",
    "tuple_add",
    "tuple_sub",
    "size_in_bytes",
    "FastDivmodDivisor",
    "fast_divmod_create_divisor",
    "Layout",
    "ComposedLayout",
    "Swizzle",
    "Shape",
    "Coord",
    "Tile",
    "Int",
    "Ratio",
    "ScaledBasis",
    "E",
]


@pytest.mark.parametrize("name", NAMES)
def test_public_name(name: str) -> None:
    assert name in tl.__all__
    assert hasattr(tl, name)


def test_every_import_is_the_standard_library_the_package_or_its_support() -> None:
    for path in (*PACKAGE.glob("*.py"), *(PACKAGE.parent / "support").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                own = name.split(".")[:2] in (["triptych", "layout"], ["triptych", "support"])
                assert own or name.split(".")[0] in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_import_without_site_packages() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['torch_mlir', 'llvmlite', 'numpy', 'tvm_ffi', 'torch']));"
        f"sys.path.insert(0, {str(PACKAGE.parent.parent)!r});"
        "import triptych.layout as tl;"
        "print(tl.composition(tl.Layout.parse('(4,8):(8,1)'), (2, 2)))"
    )
    found = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "(2,2):(8,1)\n"


def test_the_command_without_site_packages() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['torch_mlir', 'llvmlite', 'numpy', 'tvm_ffi', 'torch']));"
        f"sys.path.insert(0, {str(PACKAGE.parent.parent)!r});"
        "from triptych.workbench.commands.cli import main;"
        "sys.exit(main(['layout', '4:2']))"
    )
    found = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("4:2\n")

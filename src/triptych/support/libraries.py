"""Library code: Python's and well-known libraries', which run as they are, or what somebody ships with kernels.

One list for two questions, so that they have one answer. The meta-stage asks what to rewrite when traced code calls it;
the cache key asks what to read. What is rewritten is read, wherever it was installed: a package of kernels may be built
again without a new number, and its settings are its users' to change. What runs as it is, a version number pins.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

LIBRARIES = frozenset(
    {
        # Arrays and frameworks: traced code calls them with what is known while tracing, or not at all.
        *("numpy", "scipy", "pandas", "polars", "pyarrow", "xarray", "sklearn", "sympy", "mpmath", "networkx", "cupy"),
        *("torch", "torchvision", "torchaudio", "torchgen", "functorch", "transformers", "accelerate", "safetensors"),
        *("jax", "jaxlib", "flax", "optax", "tensorflow", "keras", "onnx", "einops", "ml_dtypes"),
        # Compilers and drivers.
        *("torch_mlir", "llvmlite", "tvm_ffi", "tvm", "numba", "triton", "cuda", "nvidia", "pycuda", "cffi"),
        # What programs are made, shown, tested and installed with.
        *("attr", "attrs", "pydantic", "pydantic_core", "typing_extensions", "absl", "click", "yaml", "packaging"),
        *("matplotlib", "mpl_toolkits", "PIL", "rich", "tqdm", "IPython", "ipykernel", "traitlets", "pygments"),
        *("pytest", "_pytest", "pluggy", "hypothesis", "coverage", "mypy", "setuptools", "pkg_resources", "pip"),
        # The network.
        *("redis", "fsspec", "cryptography", "requests", "urllib3", "ray", "dask"),
    }
)
"""Packages whose functions are not written to be compiled. All others are somebody's program, installed or not."""

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_STANDARD = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")
_FROZEN = re.compile(r"<frozen (\w+)")
_ZIPPED = f"python{sys.version_info.major}{sys.version_info.minor}.zip"


def is_library(package: str) -> bool:
    """Whether a package is one on the list: a distribution has installed it, or it says its number itself.

    Where it lies is no matter: `pip install --target` has its metadata beside it, wherever that is. A user's own
    `coverage.py` has none and is a program like any other.
    """
    if package not in LIBRARIES:
        return False
    loaded = sys.modules.get(package)
    if loaded is None:
        return True
    places = [getattr(loaded, "__file__", None), *map(str, getattr(loaded, "__path__", ()))]
    return _is_published(package, next((place for place in places if isinstance(place, str)), ""), loaded)


_PUBLISHED: dict[tuple[str, str], bool] = {}


def _is_published(package: str, place: str, loaded: ModuleType) -> bool:
    known = _PUBLISHED.get((package, place))
    if known is None:
        top = place if os.path.isdir(place) else os.path.dirname(place)
        folder = Path(os.path.realpath(top))
        around = folder.parent if folder.name == package else folder
        known = (
            place.startswith(_OWN)
            or metadata_of(package, around) is not None
            or isinstance(getattr(loaded, "__version__", None), str)
        )
        _PUBLISHED[package, place] = known
    return known


def metadata_of(package: str, folder: Path) -> str | None:
    """What the distribution says of itself that has installed a package into a folder.

    The files are read directly: importing `importlib.metadata` costs more than a whole cache key.
    """
    records = sorted(folder.glob("*.dist-info"))
    own = [info for info in records if _spelling(info.name.partition("-")[0]) == _spelling(package)]
    for info in own or [info for info in records if _installs(info, package)]:
        try:
            return (info / "METADATA").read_text(encoding="utf-8")
        except OSError:
            continue
    return None


def _installs(info: Path, package: str) -> bool:
    """Distributions such as PyYAML install a package of another name (`yaml`): their record lists it."""
    try:
        lines = (info / "RECORD").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return any(line.startswith((f"{package}/", f"{package}.")) for line in lines)


def _spelling(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def is_library_function(function: FunctionType) -> bool:
    """Whether Python or a library on the list has it; by its globals, because `functools.wraps` gives names away."""
    module = function.__globals__.get("__name__")
    name = module.partition(".")[0] if isinstance(module, str) else ""
    return is_library(name) or is_standard(name, function.__code__.co_filename)


@cache
def is_standard(package: str, file: str) -> bool:
    """Whether a file is Python's own. A file of the user's may have the name of one of its modules."""
    frozen = _FROZEN.match(file)
    if frozen is not None:
        return frozen[1] in sys.stdlib_module_names
    if not os.path.isabs(file):  # as tools that freeze a program write it
        return package in sys.stdlib_module_names and not file.startswith("<")
    inside = next((file[len(folder) :] for folder in _STANDARD if file.startswith(folder)), None)
    if inside is None:
        return _ZIPPED in file.split(os.sep)
    return not inside.startswith(_INSTALLED)

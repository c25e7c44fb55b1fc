"""Builds the wheel of the package, and the editable one, with nothing but the standard library: tests have no network."""

import zipfile
from pathlib import Path

ROOT = Path(__file__).parent
INFO = "kernelshop-1.0.dist-info"
FILES = {
    f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: kernelshop\nVersion: 1.0\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: kernelshop\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    sources = sorted((ROOT / "kernelshop").glob("*.py"))
    return _write(wheel_directory, {f"kernelshop/{path.name}": path.read_text() for path in sources})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {"kernelshop.pth": f"{ROOT}\n"})


def _write(folder, files):
    name = "kernelshop-1.0-py3-none-any.whl"
    files = {**files, **FILES}
    record = "".join(f"{path},,\n" for path in [*files, f"{INFO}/RECORD"])
    with zipfile.ZipFile(Path(folder, name), "w") as wheel:
        for path, text in {**files, f"{INFO}/RECORD": record}.items():
            wheel.writestr(path, text)
    return name

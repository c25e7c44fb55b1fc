import importlib
import pathlib
import sys
import tempfile

import triptych as tt

folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
file = pathlib.Path(folder, "scaling.py")
file.write_text("def scaled(x): return 2 * x")
scaling = importlib.import_module("scaling")

file.write_text("def scaled(x): return 30 * x")
importlib.reload(scaling)

tt.jit(scaling.scaled)(1)

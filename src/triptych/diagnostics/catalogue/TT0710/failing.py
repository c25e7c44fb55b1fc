import sys
import types

from triptych import compat

sys.modules["cutlass"] = types.ModuleType("cutlass")
try:
    compat.activate()
finally:
    del sys.modules["cutlass"]

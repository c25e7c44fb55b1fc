from triptych.workbench.tuning.tuning_cache import SCHEMA

print(SCHEMA)

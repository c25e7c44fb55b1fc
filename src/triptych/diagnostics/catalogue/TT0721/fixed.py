from triptych.workbench.measurement.records import SCHEMA

print(SCHEMA)

from triptych.cute.tuning.choices import SCHEMA

print(SCHEMA)

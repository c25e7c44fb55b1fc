"""Differential testing: generated programs that CPython, `PythonHooks` and compiled code must agree on."""

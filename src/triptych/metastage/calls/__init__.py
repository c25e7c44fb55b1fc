"""Calls while tracing: inlining, builtins, special methods, and calls of library code."""

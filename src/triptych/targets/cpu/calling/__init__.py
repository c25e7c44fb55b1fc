"""Calling convention between Python and compiled code: entry points, arguments, results, errors."""

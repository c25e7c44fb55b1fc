"""How Python calls compiled code: entry points, arguments, results, errors."""

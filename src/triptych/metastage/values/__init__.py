"""Run-time numbers while tracing: types, promotion, operators, conversion and declared types."""

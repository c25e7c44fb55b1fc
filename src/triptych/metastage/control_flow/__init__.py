"""Branches and loops of run-time values: how variables and objects join."""

"""Targets: machines that compiled code runs on. Each is a plug-in found by name; none imports another."""

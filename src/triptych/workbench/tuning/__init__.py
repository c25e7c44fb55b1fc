"""Autotuning by command: every configuration ends in a table with its reason, and nothing is measured twice."""

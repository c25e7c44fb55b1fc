"""Contracts of a user's file, and readers of public formats of such files."""

"""Command lines of host programs: how they ask for the numbers in their tensors."""

from __future__ import annotations

import argparse


class CantImplementError(Exception):
    """Raised by host programs for a choice of types and sizes that their kernel is not made for."""


def add_tensor_init_args(parser: argparse.ArgumentParser, supports_int_dtypes: bool = True) -> None:
    """Add `--init_normal`, `--normal_mean` and `--normal_std`."""
    note = "; whole numbers for integer types" if supports_int_dtypes else ""
    group = parser.add_argument_group("numbers in tensors")
    group.add_argument("--init_normal", action="store_true", help=f"normally distributed numbers{note}")
    group.add_argument("--normal_mean", type=float, default=0.0, help="their mean")
    group.add_argument("--normal_std", type=float, default=1.0, help="their standard deviation")


def validate_tensor_init_args(args: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Refuse options that contradict each other."""
    if args.normal_std < 0:
        parser.error("--normal_std must not be negative")
    if not args.init_normal and (args.normal_mean, args.normal_std) != (0.0, 1.0):
        parser.error("--normal_mean and --normal_std say something only with --init_normal")

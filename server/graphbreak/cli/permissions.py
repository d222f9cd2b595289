"""What the options say that programs may do beyond the sandbox's own rules."""

from __future__ import annotations

import argparse
import os

from ..core.requests import Permissions


def add_options(command: argparse.ArgumentParser) -> None:
    """The options that `check` and `explain` share."""
    group = command.add_argument_group("sandbox", "What the traced programs may do; see SECURITY.md.")
    group.add_argument("--allow-write", action="append", default=[], metavar="PATH", help="let programs write this file or folder")
    group.add_argument("--allow-read", action="append", default=[], metavar="PATH", help="let programs read this hidden file or folder")
    group.add_argument("--allow-env", action="append", default=[], metavar="NAME", help="let programs see this variable")
    group.add_argument("--allow-network", action="store_true", help="let programs use the network")
    group.add_argument("--allow-project-permissions", action="store_true", help="grant what pyproject.toml asks for, from now on")
    group.add_argument("--require", action="append", default=[], metavar="LAYER", help="run nothing without this layer of the sandbox")
    group.add_argument("--no-sandbox", action="store_true", help="run programs as they are, with all your rights")


def permissions_of(options: argparse.Namespace) -> Permissions:
    """The permissions that the options give; relative paths are those of the working directory."""
    return Permissions(
        tuple(os.path.abspath(os.path.expanduser(path)) for path in options.allow_write),
        tuple(os.path.abspath(os.path.expanduser(path)) for path in options.allow_read),
        tuple(options.allow_env),
        options.allow_network,
        tuple(options.require),
        not options.no_sandbox,
    )

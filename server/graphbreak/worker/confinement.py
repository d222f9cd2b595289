"""What the worker knows of the sandbox around it, and the one layer that each job puts around itself."""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION_OF_SCOPES = 6
_SCOPE_SIGNALS = 2


def keep_signals_in() -> None:
    """Let this process, and what it starts, send signals only among themselves: other jobs, and the parent of all, are out of reach. Where
    the kernel has no Landlock that can do it, nothing changes."""
    try:
        libc = ctypes.CDLL(None)
        if libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_long(0), ctypes.c_long(1)) < _VERSION_OF_SCOPES:
            return
        rules = struct.pack("=QQQ", 0, 0, _SCOPE_SIGNALS)
        descriptor = libc.syscall(ctypes.c_long(_CREATE_RULESET), rules, ctypes.c_long(len(rules)), ctypes.c_long(0))
        if descriptor >= 0:
            libc.syscall(ctypes.c_long(_RESTRICT_SELF), ctypes.c_long(descriptor), ctypes.c_long(0))  # refused without no_new_privs
            os.close(descriptor)
    except (AttributeError, OSError):
        return  # not Linux

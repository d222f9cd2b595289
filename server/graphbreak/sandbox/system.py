"""System calls that Python has no name for. Each raises OSError where the kernel says no."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

_libc = ctypes.CDLL(None, use_errno=True)

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
"""Kinds of namespace, for `unshare`."""

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_SLAVE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 19
MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_MOUNT_SETATTR = 442
_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_CAPABILITY_VERSION = 0x20080522


def _checked(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), what)
    return result


def syscall(number: int, *arguments: object) -> int:
    """A system call by its number; arguments are whole numbers, bytes or ctypes values."""
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *values), f"system call {number}")


def prctl(option: int, *arguments: object) -> int:
    """Change something about this process."""
    values = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(ctypes.c_int(option), *values), f"prctl {option}")


def unshare(flags: int) -> None:
    """Leave the namespaces of these kinds for new ones."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount something, or change a mount."""
    values = [os.fsencode(text) if text else None for text in (source, target, kind)]
    _checked(_libc.mount(*values, ctypes.c_ulong(flags), os.fsencode(options) if options else None), target)


def unmount(target: str) -> None:
    """Take the topmost mount away from a place, once nobody uses it."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), target)


def set_mount_flags(target: str, add: int = 0, clear: int = 0, *, recursive: bool = False) -> None:
    """Set and clear flags (MS_RDONLY, MS_NOSUID and MS_NODEV have the same values here) of a mount, or of all below it."""
    attributes = struct.pack("=QQQQ", add, clear, 0, 0)
    syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), _AT_RECURSIVE if recursive else 0, attributes, len(attributes))


def open_place(path: str, root: str = "/") -> int:
    """A descriptor of a place below a root, reached over no link. Raises OSError, also where there is a link on the way."""
    descriptor = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in path.split("/"):
        if name:
            folder = descriptor
            try:
                descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            finally:
                os.close(folder)
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return descriptor


def end_with_parent(signal: int) -> None:
    """Have the kernel send this process a signal when the thread that started it ends. A change of identity takes that back."""
    prctl(_PR_SET_PDEATHSIG, signal)


def forbid_inspection() -> None:
    """Let no other process of the same user look into this one."""
    prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    prctl(_PR_SET_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    """Let no program that is started from here gain anything (set-user-ID, file capabilities)."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities(kept: frozenset[int] = frozenset()) -> None:
    """Give up all capabilities but these, for this process and for what it becomes and starts."""
    for capability in range(64):
        if capability not in kept:
            try:
                prctl(_PR_CAPBSET_DROP, capability)
            except OSError:
                continue  # there is no such capability, or it is not ours to drop
    try:
        prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    except OSError:
        pass
    mask = sum(1 << capability for capability in kept) & capabilities()
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _checked(_libc.capset(header, struct.pack("=IIIIII", low, low, 0, high, high, 0)), "capset")


def capabilities() -> int:
    """The capabilities that this process may use, one bit for each."""
    sets = ctypes.create_string_buffer(24)
    _checked(_libc.capget(struct.pack("=Ii", _CAPABILITY_VERSION, 0), sets), "capget")
    low, _, _, high, _, _ = struct.unpack("=IIIIII", sets.raw)
    return int(low | high << 32)

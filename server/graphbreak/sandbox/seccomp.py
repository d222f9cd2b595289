"""Layer: a filter for system calls that no model needs: those that look into other processes, change the machine, or open
sockets of kinds that no network namespace holds back."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct

from . import system

FILTER = "seccomp"

_PR_SET_SECCOMP, _FILTER_MODE = 22, 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_SET, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_CLONE_NEWUSER = 0x10000000
_SOCKET_KIND = 0xF

# Names with their numbers on x86-64 and on AArch64; -1 where there is none.
_DENIED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "acct": (163, 89), "quotactl": (179, 60),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "open_by_handle_at": (304, 265), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "setns": (308, 268), "unshare": (272, 97), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setdomainname": (171, 162), "syslog": (103, 116), "iopl": (172, -1), "ioperm": (173, -1), "vhangup": (153, 58),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "pidfd_getfd": (438, 438),
}  # fmt: skip
_MISSING = {"clone3": (435, 435)}
"""Calls whose flags a filter cannot see: they are said not to exist, so that the C library falls back on `clone`."""

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_CLONE, _SOCKET, _SOCKETPAIR = (56, 220), (41, 198), (53, 199)

Instruction = tuple[int, int, int, int]


def program(machine: str, inet: bool, datagrams: bool) -> list[Instruction] | None:
    """The filter for a machine, or None for one it is not written for. `inet` says whether sockets of the internet may be opened at all,
    `datagrams` whether other ones than TCP's may."""
    if machine not in _MACHINES:
        return None
    column, architecture = _MACHINES[machine]
    denied = [numbers[column] for numbers in _DENIED.values() if numbers[column] >= 0]
    steps: list[Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_EQUAL, 1, 0, architecture), _error(errno.EPERM)]
    steps.append((_LOAD, 0, 0, _NUMBER))
    if machine == "x86_64":
        steps += [(_JUMP_SET, 0, 1, 0x40000000), _error(errno.ENOSYS)]  # the other set of numbers of this architecture
    for number in denied:
        steps += [(_JUMP_EQUAL, 0, 1, number), _error(errno.EPERM)]
    for numbers in _MISSING.values():
        steps += [(_JUMP_EQUAL, 0, 1, numbers[column]), _error(errno.ENOSYS)]
    flags = [(_LOAD, 0, 0, _ARGUMENTS), (_JUMP_SET, 0, 1, _CLONE_NEWUSER), _error(errno.EPERM), _allow()]
    steps += _when(_CLONE[column], flags)
    for call in (_SOCKET, _SOCKETPAIR):
        steps += _when(call[column], _families(inet, datagrams))
    return [*steps, _allow()]


def _families(inet: bool, datagrams: bool) -> list[Instruction]:
    steps: list[Instruction] = [(_LOAD, 0, 0, _ARGUMENTS)]
    for family in (socket.AF_UNIX, socket.AF_NETLINK):
        steps += [(_JUMP_EQUAL, 0, 1, int(family)), _allow()]
    kinds = [(_LOAD, 0, 0, _ARGUMENTS + 8), (_AND, 0, 0, _SOCKET_KIND), (_JUMP_EQUAL, 0, 1, int(socket.SOCK_STREAM)), _allow()]
    verdict = [_allow()] if inet and datagrams else [*kinds, _error(errno.EACCES)] if inet else [_error(errno.EACCES)]
    for family in (socket.AF_INET, socket.AF_INET6):
        steps += _when(int(family), verdict)
    return [*steps, _error(errno.EAFNOSUPPORT)]


def _when(value: int, steps: list[Instruction]) -> list[Instruction]:
    """Steps that are taken only where the loaded value is this one."""
    return [(_JUMP_EQUAL, 0, len(steps), value), *steps]


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _error(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)


def apply(*, inet: bool, datagrams: bool) -> bool:
    """Put the filter around this process and all that it starts; False on a machine that it is not written for. Raises OSError."""
    steps = program(os.uname().machine, inet, datagrams)
    if steps is None or struct.calcsize("P") != 8:
        return False
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    header = struct.pack("@HP", len(steps), ctypes.addressof(code))
    system.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.c_char_p(header))
    return True

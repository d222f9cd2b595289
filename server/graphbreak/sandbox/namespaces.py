"""Layer: namespaces of the program's own, so that it sees no process, network, mount or memory segment of the machine's.

A user namespace is what lets an unprivileged user make the others. Where the kernel or its administrator forbids that, or parts of it, the
other layers stand alone.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Callable

from . import system

MOUNTS, PROCESSES, NETWORK, MEMORY = "mount namespace", "pid namespace", "network namespace", "ipc namespace"
"""What the layers are called."""

_FLAGS = {MOUNTS: system.NEWNS, NETWORK: system.NEWNET, MEMORY: system.NEWIPC, PROCESSES: system.NEWPID}
_SYS_ADMIN = 1 << 21
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def possible(wanted: list[str], rehearse: Callable[[], None]) -> list[str]:
    """Those of the wanted namespaces that this process can make and use, found out by a child that tries. `rehearse` does in a mount
    namespace what will be done there."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            made = enter(wanted)
            if MOUNTS in made and not _works(rehearse):
                made.remove(MOUNTS)
            if PROCESSES in made and not (MOUNTS in made and _in_child_works(show_processes)):
                made.remove(PROCESSES)  # a `/proc` that speaks of other processes would be worse
            os.write(write_end, "\n".join(made).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8") as answer:
        words = answer.read().split("\n")
    os.waitpid(child, 0)
    return [name for name in wanted if name in words]


def _works(work: Callable[[], None]) -> bool:
    try:
        work()
    except OSError:
        return False
    return True


def _in_child_works(work: Callable[[], None]) -> bool:
    """Whether something works for a process inside of a new process namespace."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if _works(work) else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def enter(wanted: list[str]) -> list[str]:
    """Make the wanted namespaces, as far as that goes; returns those made. The process namespace begins with the next child."""
    if not system.capabilities() & _SYS_ADMIN:
        try:
            _enter_user_namespace()
        except OSError:
            return []
    made = []
    for name in wanted:
        try:
            system.unshare(_FLAGS[name])
        except OSError:
            continue
        made.append(name)
        if name == MOUNTS:
            system.mount("", "/", "", system.MS_REC | system.MS_SLAVE)
    return made


def _enter_user_namespace() -> None:
    """A user namespace in which everybody is who they were."""
    user, group = os.getuid(), os.getgid()
    system.unshare(system.NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def show_processes() -> None:
    """Mount a `/proc` of this process's own namespace, which nothing may be written to."""
    system.mount("proc", "/proc", "proc", system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC | system.MS_RDONLY)


def start_loopback() -> None:
    """Bring the loopback device of a new network namespace up: programs that talk to themselves need it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack_from("16xH", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))

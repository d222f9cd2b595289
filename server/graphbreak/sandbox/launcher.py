"""Run by path with the server's own Python, `python -I -S launcher.py POLICY LINE`: two descriptors, of the policy as JSON and of the
server's socket.

It puts the layers in place one after another and becomes the user's interpreter; nothing of the user's is read before.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

_FOLDER = os.path.dirname(os.path.abspath(__file__))

if TYPE_CHECKING:
    from . import landlock, limits, mounts, namespaces, scratch, seccomp, supervisor, system
else:
    if __package__ in (None, ""):
        _spec = importlib.util.spec_from_file_location(
            "graphbreak_sandbox", os.path.join(_FOLDER, "__init__.py"), submodule_search_locations=[_FOLDER]
        )
        sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
        __package__ = _spec.name
    from . import landlock, limits, mounts, namespaces, scratch, seccomp, supervisor, system

_READ_SEARCH = 2
"""The capability to read what the file's rights forbid: an administrator's program reads what he reads."""


_SHARE_OF_FILES = 4
"""What part of the memory the program's temporary files may take: a checkpoint has to fit in there."""


class _Launch:
    """One launch: the policy, the line to the server, and the layers that are in force so far."""

    def __init__(self, policy: dict[str, Any], line: supervisor.Line) -> None:
        self.policy, self.line = policy, line
        self.layers: list[str] = []
        self.view: mounts.View | None = None
        self.private = ""
        self._sockets = mounts.Sockets(policy["sockets"])
        self._as_user = bool(system.capabilities() & 1 << 21)

    def run(self) -> NoReturn:
        """Start the program in its sandbox, stay until it ends, and end like it."""
        for path in self.policy["write"]:
            _make(path)
        self.layers += namespaces.enter(namespaces.possible(self._wanted(), self._rehearse))
        end_with(self.policy["server"])  # a user namespace is a change of identity, which takes that back
        if namespaces.PROCESSES in self.layers:
            _end_like(self._in_child(self._supervise))
        system.adopt_orphans()
        status = self._supervise()
        supervisor.end_all_others()
        if self.view is None:
            scratch.remove(self.private)
        _end_like(status)

    def _rehearse(self) -> None:
        """Make the whole view, in a namespace that is thrown away. Raises OSError where that does not work."""
        self._new_view().arrange(self.policy["write"], self.policy["needed"])

    def _new_view(self) -> mounts.View:
        return mounts.View(self.policy["hidden"], self._sockets, supervisor.memory()[1] // _SHARE_OF_FILES)

    def _wanted(self) -> list[str]:
        wanted = [namespaces.MOUNTS, namespaces.MEMORY, namespaces.PROCESSES]
        return wanted if self.policy["network"] else [namespaces.NETWORK, *wanted]

    def _in_child(self, work: Any) -> int:
        """Fork a child that does the work and ends with the status that it returns; its end ours sees, and ours ends it."""
        read_end, write_end = os.pipe()
        child = os.fork()
        if child:
            os.close(write_end)
            self._let_go()
            with os.fdopen(read_end, "rb") as answer:
                word = answer.read()
            os.waitpid(child, 0)
            return int(word) if word else 9
        try:
            os.close(read_end)
            system.end_with_parent(signal.SIGKILL)
            os.write(write_end, str(work()).encode())
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)

    def _let_go(self) -> None:
        """Keep nothing open of what is the program's: its end must be seen from outside."""
        for descriptor in self.policy["descriptors"]:
            os.close(descriptor)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)

    def _supervise(self) -> int:
        self._arrange()
        system.forbid_inspection()
        program = os.fork()
        if program == 0:
            try:
                self._become_program()
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(70)
        self._let_go()
        files = self.view.used if self.view is not None else lambda: 0
        watch = supervisor.Watch(program, self.policy["single"], self.line, self.policy["memory_left"], files)
        return supervisor.supervise(watch, self._obey)

    def _arrange(self) -> None:
        """What a supervisor does around the program: mounts, processes, network."""
        if namespaces.PROCESSES in self.layers and limits.bound_tasks(self.policy["tasks"]):
            self.layers.append(limits.TASKS)
        if namespaces.NETWORK in self.layers:
            namespaces.start_loopback()
        if namespaces.MOUNTS in self.layers:
            self.view = self._new_view()
            self.private = self.view.private
            if self.view.arrange(self.policy["write"], self.policy["needed"]):
                self.layers.append(mounts.READ_ONLY)
        else:
            scratch.sweep(self.policy["temporary"])
            self.private = scratch.make(self.policy["temporary"])
        if namespaces.PROCESSES in self.layers:
            namespaces.show_processes()
        if os.path.exists("/proc/meminfo"):
            self.layers.append(supervisor.WATCH)

    def _obey(self, order: dict[str, Any]) -> None:
        """Do what the server asks for; nothing is asked for at each tick."""
        if self.view is None:
            return
        try:
            for path in order.get("show", ()):
                self.view.show(path)
            self.view.hide()
            if order.get("tidy"):
                self.view.tidy()
            if order.get("ready"):
                self.view.remember_what_is_there()
        except OSError as error:
            self.line.tell(trouble=str(error))

    def _become_program(self) -> NoReturn:
        """The last layers, which hold for this process and all that it starts; then it is the user's interpreter."""
        if namespaces.PROCESSES in self.layers:
            os.setsid()  # its signals to its own group must not leave the namespace
        else:
            system.end_with_parent(signal.SIGKILL)
        variables, own = self._variables(), self._own()
        if limits.TASKS not in self.layers and self._counts_tasks():
            self.policy["limits"]["RLIMIT_NPROC"] = self.policy["tasks"]
            self.layers.append(limits.TASKS)
        limits.apply(self.policy["limits"])
        self.layers.append(limits.LIMITS)
        limits.forbid_new_privileges()
        self.layers.append(limits.QUIET)
        self._restrict_files(own)
        system.drop_capabilities(frozenset({_READ_SEARCH}))
        self._filter_calls()
        if missing := [name for name in self.policy["require"] if name not in self.layers]:
            self.line.tell(missing=missing)
            os._exit(0)
        self.line.tell(layers=self.layers)
        for descriptor in self.policy["descriptors"]:
            os.set_inheritable(descriptor, True)
        command = self.policy["command"]
        try:
            os.execvpe(command[0], command, {**variables, "GRAPHBREAK_SANDBOX": self._told(own)})
        except OSError as error:
            self.line.tell(cannot_start=error.strerror or str(error))
            os._exit(127)

    def _counts_tasks(self) -> bool:
        """Whether the kernel counts the tasks of this user namespace by themselves (5.14 and newer)."""
        release = tuple(int(part) for part in os.uname().release.split(".")[:2])
        return not self._as_user and namespaces.MEMORY in self.layers and release >= (5, 14)

    def _variables(self) -> dict[str, str]:
        variables = dict(self.policy["variables"])
        for name, inside in self.policy["private"].items():
            variables[name] = folder = os.path.join(self.private, inside).rstrip("/")
            os.makedirs(folder, exist_ok=True)
        return variables

    def _own(self) -> list[str]:
        """What every program may write."""
        own = list(mounts.WRITABLE) if self.view is not None else [self.private, *mounts.DEVICES]
        return [*own, *mounts.computing_devices()]

    def _restrict_files(self, own: list[str]) -> None:
        try:
            rules = landlock.Ruleset(reads=self.view is None, tcp=namespaces.NETWORK not in self.layers and not self.policy["network"])
        except OSError:
            return
        if rules.restricts_reads:
            hidden = ["/dev", *(os.path.realpath(path) for path in self.policy["hidden"])]
            rules.allow_reading(landlock.beside(hidden))
        rules.allow_writing(own, links=True)
        rules.allow_writing(self.policy["write"], links=False)
        rules.enforce()
        self.layers.append(landlock.FILES)
        self.layers += [landlock.TCP] if rules.restricts_tcp else []
        self.layers += [landlock.SIGNALS] if rules.restricts_signals else []

    def _filter_calls(self) -> None:
        held = namespaces.NETWORK in self.layers or self.policy["network"]
        try:
            if seccomp.apply(inet=held or landlock.TCP in self.layers, datagrams=held):
                self.layers.append(seccomp.FILTER)
        except OSError:
            return

    def _told(self, own: list[str]) -> str:
        """What the worker is told, so that it can say what stopped a program."""
        writable = [*own, *self.policy["write"]]
        return json.dumps({"write": writable, "hidden": self.policy["hidden"], "network": self.policy["network"], "layers": self.layers})


def _make(path: str) -> None:
    """Make something that may be written and is not there, for a rule needs something to be about: a folder, or a file where its name has a
    suffix."""
    above, name = os.path.split(path)
    try:
        folder = system.open_place(above)
    except OSError:
        return  # there is no place for it
    try:
        if os.path.splitext(name)[1]:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644, dir_fd=folder))
        else:
            os.mkdir(name, dir_fd=folder)
    except OSError:
        return  # it is there, or cannot be
    finally:
        os.close(folder)


def _end_like(status: int) -> NoReturn:
    """End as the program did, so that whoever waits for us learns how."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        limits.forbid_core_files()
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def end_with(server: int) -> None:
    """Let this process end with the one that started it, now if that is gone already."""
    system.end_with_parent(signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)


def main() -> NoReturn:
    """Read the policy and launch. Ends at once where the server that asked for it is gone already."""
    with os.fdopen(int(sys.argv[1]), encoding="utf-8") as file:
        policy = json.load(file)
    end_with(policy["server"])
    limits.go_first()
    for descriptor in policy["descriptors"]:
        os.set_inheritable(descriptor, False)
    _Launch(policy, supervisor.Line(int(sys.argv[2]))).run()


if __name__ == "__main__":
    main()

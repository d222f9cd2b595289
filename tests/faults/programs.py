"""Hostile programs, as data: each calls its marked function and then does harm, and each has one clear end.

`{canary}` is a folder in the workspace, `{port}` where somebody listens, `{pid}` a process outside.
"""

# ruff: noqa: E501 - a program is easier to read on its line
from __future__ import annotations

from dataclasses import dataclass, field

HEAD = """\
import asyncio, atexit, builtins, ctypes, gc, logging, multiprocessing, os, queue, re, select, shutil, signal, socket, subprocess, sys
import threading, time, warnings
import torch


@torch.compile
def f(x):
    x = x * 2
    print("a")
    return x + 1


f(torch.ones(3))
"""
TIMED_OUT, DIED, RAISED, TRACED, NOT_RUN, ANY = "timed out", "died", "raised", "traced", "not run", "any"


@dataclass(frozen=True)
class Hostile:
    """What it does, how its trace ends, and words that are said of it; `telling` ones are always run, the others in the long version."""

    name: str
    act: str
    ends: str
    says: str = ""
    telling: bool = False
    timeout: float = 30.0
    files: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> str:
        """The program."""
        return HEAD + self.act + "\n"


def _endless(name: str, act: str, telling: bool = False) -> Hostile:
    return Hostile(name, act, TIMED_OUT, "had not ended after 3 s", telling, 3.0)


def _stopped(name: str, act: str, telling: bool = False) -> Hostile:
    return Hostile(name, act, RAISED, "the sandbox does not allow it", telling)


NEVER_ENDING = [
    _endless("a loop", "while True: pass", telling=True),
    _endless("sleep", "time.sleep(1000)"),
    _endless("a regular expression", "re.match(r'(a+)+$', 'a' * 60 + 'b')", telling=True),
    _endless("a sum in C", "sum(range(10 ** 13))"),
    _endless("a lock", "lock = threading.Lock(); lock.acquire(); lock.acquire()", telling=True),
    _endless("an event", "threading.Event().wait()"),
    _endless("a queue", "queue.Queue().get()"),
    _endless("a pause", "signal.pause()"),
    _endless("a pipe that nobody writes", "os.read(os.pipe()[0], 1)"),
    _endless("a select", "select.select([os.pipe()[0]], [], [])"),
    _endless("a server", "socket.create_server(('127.0.0.1', 0)).accept()"),
    _endless("a thread that is waited for", "threading.Thread(target=time.sleep, args=(1000,)).start()"),
    _endless("an exit function", "atexit.register(time.sleep, 1000)", telling=True),
    _endless("an event loop", "asyncio.run(asyncio.sleep(1000))"),
    _endless("a child", "subprocess.run(['sleep', '600'])"),
    _endless("a child that is waited for", "os.fork() or time.sleep(1000); os.wait()"),
    _endless(
        "deafness",
        "for number in range(1, 65):\n    try: signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
        telling=True,
    ),
    _endless("a process of multiprocessing", "p = multiprocessing.Process(target=time.sleep, args=(1000,)); p.start(); p.join()"),
    _endless("a masked end", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); time.sleep(1000)"),
    _endless("an exception that is caught again and again", "while True:\n    try: time.sleep(1000)\n    except BaseException: pass"),
]

DYING = [
    Hostile("an exit with 0", "os._exit(0)", DIED, "exit status 0", telling=True),
    Hostile("an exit with 3", "os._exit(3)", DIED, "exit status 3"),
    Hostile("an abort", "os.abort()", DIED, "SIGABRT", telling=True),
    Hostile("a null pointer", "ctypes.string_at(0)", DIED, "SIGSEGV", telling=True),
    Hostile("a kill of itself", "os.kill(os.getpid(), 9)", DIED, "SIGKILL"),
    Hostile("a signal to itself", "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", DIED, "SIGTERM"),
    Hostile("an alarm", "signal.alarm(1); time.sleep(20)", DIED, "SIGALRM"),
    Hostile("a kill of its group", "os.killpg(0, 9)", DIED, "SIGKILL", telling=True),
    Hostile(
        "a stack without end",
        "class A:\n    def __repr__(self): return repr(self)\nsys.setrecursionlimit(10 ** 7)\nrepr(A())",
        ANY,
        telling=True,
    ),
    Hostile("every descriptor closed", "os.closerange(3, 65536)", DIED, "closed the pipe", telling=True),
    Hostile(
        "something else over the pipe",
        "null = os.open(os.devnull, os.O_RDWR)\nfor number in range(3, 64): os.dup2(null, number) if number != null else None",
        DIED,
        telling=True,
    ),
    Hostile("a real-time signal", "os.kill(os.getpid(), signal.SIGRTMIN); time.sleep(9)", DIED, "SIGRT"),
    Hostile("an execve", "os.execv('/bin/sleep', ['sleep', '0'])", DIED),
]

REPLACING = [
    Hostile("no output", "sys.stdout = sys.stderr = None", TRACED),
    Hostile("an object for output", "sys.stdout = object()", TRACED),
    Hostile("closed output", "os.close(1); os.close(2)", TRACED),
    Hostile("no print", "builtins.print = None", TRACED),
    Hostile("no import", "builtins.__import__ = None", TRACED, telling=True),
    Hostile(
        "no builtins", "for name in list(vars(builtins)):\n    if name not in ('len', '__build_class__'): vars(builtins).pop(name)", ANY
    ),
    Hostile("no compile", "torch.compile = None", TRACED),
    Hostile("no modules", "sys.modules.clear()", ANY, telling=True),
    Hostile("no logging", "logging.shutdown(); logging.disable(logging.CRITICAL); logging.root.handlers.clear()", TRACED),
    Hostile("no trace log", "logging.getLogger('torch.__trace').handlers.clear()", TRACED),
    Hostile("an excepthook", "def hook(*_): raise KeyError\nsys.excepthook = hook\nraise ValueError('here')", RAISED, "ValueError"),
    Hostile("a trace function", "sys.settrace(lambda *_: 1 / 0)", ANY),
    Hostile("a profile function", "sys.setprofile(lambda *_: None)", TRACED),
    Hostile("warnings as errors", "warnings.simplefilter('error'); warnings.warn('here')", RAISED, "UserWarning"),
    Hostile("no path", "del sys.path[:]; os.chdir('/'); os.environ.clear()", TRACED),
    Hostile("hardly any recursion", "sys.setrecursionlimit(60)", ANY),
    Hostile("no collection", "gc.disable(); gc.set_threshold(0); gc.callbacks.append(lambda *_: 1 / 0)", TRACED),
    Hostile("no json", "import json; json.dumps = json.loads = None", ANY),
    Hostile("no exit", "os._exit = sys.exit = lambda *_: None", ANY, timeout=5.0),
    Hostile("another main", "sys.modules['__main__'] = None", TRACED),
]

LEAVING = [
    Hostile("an exit", "sys.exit(0)", TRACED),
    Hostile("an exit with words", "sys.exit('enough')", TRACED),
    Hostile("an interrupt", "raise KeyboardInterrupt", RAISED, "KeyboardInterrupt"),
    Hostile("a generator's end", "raise GeneratorExit", RAISED, "GeneratorExit"),
    Hostile("an exception that cannot be told", "class E(Exception):\n    def __str__(self): raise KeyError\nraise E", RAISED, "E"),
    Hostile("a very long exception", "raise ValueError('x' * 100_000_000)", RAISED, "ValueError: xxx"),
    Hostile("a question", "input()", RAISED, "EOFError"),
    Hostile("a breakpoint", "breakpoint()\nx = 1", TRACED, "was passed over: a traced program has nobody to answer it"),
    Hostile("a debugger", "import pdb; pdb.set_trace()\nx = 1", RAISED, "nobody to answer it; take it out", telling=True),
    Hostile("a debugger in the end", "import pdb; pdb.set_trace()", ANY, "quits at its first question"),
    Hostile("an exception in a thread", "threading.Thread(target=lambda: 1 / 0).start()", TRACED),
]

TAKING = [
    Hostile("a fork bomb", "while True:\n    try: os.fork()\n    except OSError: pass", TIMED_OUT, telling=True, timeout=4.0),
    Hostile(
        "a fork bomb that leaves its group",
        "while True:\n    try: os.fork() or os.setsid()\n    except OSError: pass",
        TIMED_OUT,
        timeout=4.0,
    ),
    Hostile(
        "a thread bomb",
        "while True: threading.Thread(target=time.sleep, args=(1000,)).start()",
        RAISED,
        "can't start new thread",
        telling=True,
    ),
    Hostile("a hundred gigabytes", "x = torch.ones(25 << 40)", RAISED, "RuntimeError", telling=True),
    Hostile("files without end", "x = [open(os.devnull) for _ in range(10 ** 6)]", RAISED, "Too many open files", telling=True),
    Hostile("much output", "for _ in range(300): print('x' * 1_000_000)", TRACED, telling=True),
    Hostile("a large file", "f = open('/tmp/large', 'wb'); f.truncate(1 << 40)", ANY),
]

STAYING = [
    Hostile("a session of its own", "subprocess.Popen(['sleep', '600'], start_new_session=True)", TRACED, telling=True),
    Hostile("a daemon", "os.fork() or (os.setsid(), os.fork() or time.sleep(600), os._exit(0))", TRACED, telling=True),
    Hostile("a daemon thread", "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()", TRACED),
    Hostile("a pool", "pool = multiprocessing.get_context('fork').Pool(2)", ANY, timeout=5.0),
    Hostile("a loader", "for _ in torch.utils.data.DataLoader(range(4), num_workers=2): pass", TRACED, telling=True),
    Hostile("a hundred sleepers", "for _ in range(100): subprocess.Popen(['sleep', '600'], start_new_session=True)", TRACED),
    Hostile("a shell's child", "os.system('setsid sleep 600 & nohup sleep 600 &')", TRACED),
]

ESCAPING = [
    _stopped("a new file elsewhere", "open('{canary}/new', 'w')", telling=True),
    _stopped("a file emptied", "open('{canary}/file', 'w')"),
    _stopped("a file removed", "os.remove('{canary}/file')", telling=True),
    Hostile("a folder removed", "shutil.rmtree('{canary}', ignore_errors=True)", TRACED, telling=True),
    _stopped("a file renamed", "os.rename('{canary}/file', '{canary}/other')"),
    _stopped("rights changed", "os.chmod('{canary}/file', 0)"),
    _stopped("a file cut", "os.truncate('{canary}/file', 0)"),
    _stopped("a way around by a link", "os.symlink('{canary}', '/tmp/link'); open('/tmp/link/new', 'w')"),
    Hostile("a command", "subprocess.run('rm -rf {canary} ~/.bashrc', shell=True)", TRACED, telling=True),
    _stopped("its own source written", "open(__file__, 'w').write('')", telling=True),
    _stopped("its own source removed", "os.remove(__file__)"),
    _stopped("something left beside it", "open('left.py', 'w')"),
    Hostile("a connection", "socket.create_connection(('127.0.0.1', {port}))", RAISED, "refused", telling=True),
    Hostile("a connection to another address", "socket.create_connection(('127.0.0.2', {port}))", RAISED, "refused"),
    Hostile("a connection by the newer protocol", "socket.create_connection(('::1', {port}))", RAISED, "", telling=True),
    Hostile("a packet", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))", ANY),
    Hostile("a raw socket", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", RAISED, "OSError"),
    Hostile("a signal outside", "os.kill({pid}, 9)", RAISED, "Error", telling=True),
    Hostile("a signal to its parent", "os.kill(os.getppid(), 9)", RAISED, "PermissionError", telling=True),
    Hostile("a signal to the first", "os.kill(1, 9)", RAISED, "PermissionError"),
    Hostile("a signal to all", "try: os.kill(-1, 9)\nexcept OSError: pass", TRACED, telling=True),
    Hostile("the memory of its parent", "open('/proc/%d/mem' % os.getppid(), 'r+b')", RAISED, "Error"),
    Hostile("the variables of the first", "open('/proc/1/environ').read()", RAISED, "PermissionError"),
    Hostile("a mount", "assert ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, None) == 0", RAISED, "AssertionError"),
    Hostile("a namespace", "assert ctypes.CDLL(None).unshare(0x10000000) == 0", RAISED, "AssertionError"),
    Hostile("a look into another", "assert ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0", RAISED, "AssertionError"),
    Hostile("another user", "os.setuid(12345)", RAISED, "PermissionError"),
    Hostile("a higher priority", "os.nice(-10)", RAISED, "PermissionError"),
    Hostile("more than its limits", "import resource; resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30))", RAISED, "Error"),
    Hostile("the kernel's settings", "open('/proc/sys/kernel/core_pattern', 'w')", RAISED, "Error"),
]

ODD = [
    Hostile("modules named like ours", "import protocol, session, recorder, loop, job, graphbreak", TRACED,
            files={f"{name}.py": "raise_ = 1\n" for name in ("protocol", "session", "recorder", "loop", "job", "graphbreak")}, telling=True),
    Hostile("an import cycle", "import one", TRACED, files={"one.py": "import two\n", "two.py": "import one\n"}),
    Hostile("a module that exits", "import one", TRACED, files={"one.py": "raise SystemExit\n"}),
    Hostile("60,000 lines", "x = 1\n" * 60_000, TRACED),
    Hostile("too many terms", "x = " + " + ".join(["1"] * 20_000), NOT_RUN, "RecursionError"),
    Hostile("a deep expression", "x = " + "(" * 90 + "1" + ")" * 90, TRACED),
]  # fmt: skip

PROGRAMS = [*NEVER_ENDING, *DYING, *REPLACING, *LEAVING, *TAKING, *STAYING, *ESCAPING, *ODD]

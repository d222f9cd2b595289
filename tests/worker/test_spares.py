"""A job that a spare becomes: the program finds what it finds in a plain fork, and nothing tells that something was traced before."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphbreak.core.requests import Permissions
from graphbreak.sandbox.policy import policy_for
from graphbreak.tracer.environment import paths_of, worker_variables
from graphbreak.tracer.prepared import WORKER, PreparedParent, Ran
from graphbreak.worker.protocol import Job, Message
from harness import INTERPRETER, PRINT, Harness, assert_print_example

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.name != "transformers_model.py"]

PROBE = """\
import gc, json, logging, os, signal, sys, tempfile, threading, time, warnings
import torch
from torch._dynamo import utils

def state():
    files = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return {
        "modules": [name for name in sorted(sys.modules) if not name.startswith(("sympy.", "torch."))],
        "torch's": hash(tuple(sorted(name for name in sys.modules if name.startswith(("sympy.", "torch."))))),
        "argv": sys.argv, "path": sys.path, "folder": os.getcwd(), "variables": dict(os.environ),
        "torch": torch.rand(2).tolist(), "seed": torch.initial_seed(), "threads": threading.active_count(),
        "signals": [str(signal.getsignal(number)) for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)],
        "open": sorted(os.readlink(path).partition(":")[0] for path in files if os.path.lexists(path)),
        "filters": [str(one) for one in warnings.filters], "collects": gc.isenabled(), "temporary": tempfile.gettempdir(),
        "counters": {name: dict(found) for name, found in utils.counters.items()}, "metrics": len(utils.get_compilation_metrics()),
        "loggers": {name: logging.getLogger(name).level for name in logging.root.manager.loggerDict}, "group": os.getpgrp() == os.getpid(),
        "config": {name: str(value) for name, value in torch._dynamo.config.get_config_copy().items() if "fn" not in name},
    }

print(json.dumps(state()))

@torch.compile
def f(x):
    print(end="")
    return x + 1

f(torch.ones(2))
print(json.dumps(dict(utils.counters["frames"])))
"""
"""Says what it finds in its process."""


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def parent(loop: asyncio.AbstractEventLoop) -> Iterator[PreparedParent]:
    variables, _ = worker_variables(os.environ)
    policy = policy_for(Permissions(), variables, paths_of(INTERPRETER), WORKER, os.path.expanduser("~"), os.cpu_count() or 1)
    parent = PreparedParent(INTERPRETER, policy, {})
    loop.run_until_complete(parent.start())
    yield parent
    loop.run_until_complete(parent.close())


async def forked(parent: PreparedParent, job: Job) -> tuple[Ran, list[Message]]:
    """Run a job in a fork made for it: beside another one that has the spare, if there is one."""
    other = asyncio.create_task(spared(parent, Job("/-", "import time; time.sleep(60)", "/"))) if parent.has_spare else None
    while parent.has_spare:
        await asyncio.sleep(0.01)
    messages: list[Message] = []
    ran = await parent.run(job, [job.root], 60, messages.append)
    if other is not None:
        other.cancel()
        await asyncio.wait([other])
    return ran, messages


async def spared(parent: PreparedParent, job: Job) -> tuple[Ran, list[Message]]:
    """Run a job in the spare."""
    give_up = time.monotonic() + 60
    while not parent.has_spare:
        assert time.monotonic() < give_up, "there is never a spare"
        await asyncio.sleep(0.01)
    messages: list[Message] = []
    return await parent.run(job, [job.root], 60, messages.append), messages


def said(answer: tuple[Ran, list[Message]]) -> list[Any]:
    """What a job said, without the seconds, the addresses, and the parent's own frames at the bottom of a stack."""
    ran, messages = answer
    words = json.dumps([dataclasses.asdict(message) for message in messages])
    words = re.sub(r'"seconds": [\d.e-]+|0x[0-9a-f]+', "-", words)
    return [
        re.sub(r'  File \\"[^"]*/worker/parent\.py.*?(?=  File )', "", words),
        re.sub(r"(?m)^W.*?\] ", "", ran.output),
        type(ran.end).__name__,
    ]


def differences(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """What only one of the two says."""
    apart = {name: (value, expected.get(name)) for name, value in found.items() if value != expected.get(name)}
    return {name: set(one) ^ set(other or ()) if isinstance(one, list) else (one, other) for name, (one, other) in apart.items()}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_the_same_in_both(loop: asyncio.AbstractEventLoop, parent: PreparedParent, path: Path) -> None:
    job = Job(str(path), path.read_text(encoding="utf-8"), str(path.parent))
    there = said(loop.run_until_complete(spared(parent, job)))
    assert '"mark": 0' in there[0]
    assert there == said(loop.run_until_complete(forked(parent, job)))


def test_a_program_finds_the_same_process_in_both(loop: asyncio.AbstractEventLoop, parent: PreparedParent, tmp_path: Path) -> None:
    job = Job(str(tmp_path / "main.py"), PROBE, str(tmp_path))
    there, _ = loop.run_until_complete(spared(parent, job))
    plain, _ = loop.run_until_complete(forked(parent, job))
    for ran in (there, plain):
        assert "Traceback" not in ran.output, ran.output[-2000:]
    for found, expected in zip(there.output.splitlines(), plain.output.splitlines(), strict=True):
        assert differences(json.loads(found), json.loads(expected)) == {}
    assert json.loads(there.output.splitlines()[0])["threads"] == 1


def test_dynamo_compiles_without_measuring(loop: asyncio.AbstractEventLoop, parent: PreparedParent, tmp_path: Path) -> None:
    """What it flushes the processor's caches for takes as long as all the rest of a small frame."""
    program = "import torch._dynamo.guards, torch._dynamo.utils as utils\n"
    program += "print(torch._dynamo.guards.profile_guard_manager(None, None, 1), utils._scrubbed_inductor_config_for_logging())\n"
    for run in (spared, forked):
        ran, _ = loop.run_until_complete(run(parent, Job(str(tmp_path / "main.py"), program, str(tmp_path))))
        assert ran.output == "0.0 None\n"


COPIES = """\
import copy
import torch._dynamo.bytecode_transformation as transformation, torch._dynamo.resume_execution as resuming

def f(x):
    for i in range(3):
        try:
            x = [x, i][0] if i else (1, "two", 3.0)
        except ValueError:
            break
    return x

def told(all):
    place = {id(one): number for number, one in enumerate(all)} | {id(None): None}
    entries = [one.exn_tab_entry for one in all]
    ends = [[place[id(end)] for end in (one.start, one.end, one.target)] + [one.depth, one.lasti] for one in entries if one]
    return ends, [(one.opcode, one.opname, one.arg, one.argval, one.offset, one.starts_line, place[id(one.target)]) for one in all]

real = transformation.cleaned_instructions(f.__code__)
ours, plain = resuming.copy.deepcopy(real), copy.deepcopy(real)
outside = resuming.copy.deepcopy([one for one in real if one.target])
others = resuming.copy.deepcopy([1, [2]])
print(told(ours) == told(plain), ours[0] is real[0], resuming.copy.deepcopy is copy.deepcopy, others, bool(outside))
"""


def test_dynamo_copies_instructions_as_it_would(loop: asyncio.AbstractEventLoop, parent: PreparedParent, tmp_path: Path) -> None:
    ran, _ = loop.run_until_complete(spared(parent, Job(str(tmp_path / "main.py"), COPIES, str(tmp_path))))
    assert ran.output == "True False False [1, [2]] True\n"


def test_the_spare_goes_with_its_parent(tmp_path: Path) -> None:
    harness = Harness()
    assert_print_example(harness.write_and_analyse(tmp_path / "main.py", PRINT))
    give_up = time.monotonic() + 60
    while not harness.engine.prepared[0].has_spare:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert len(harness.processes()) == 2
    harness.close()
    assert harness.processes() == []

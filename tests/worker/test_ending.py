"""How a program is ended: by itself where it does, early where it would go on for ever, and with nothing of it left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from graphbreak.core.findings import Outcome
from harness import Harness, only, squiggles, worker_has

HEAD = """\
import sys, time
import torch


@torch.compile
def f(x):
    x = x * 2
    print("a")
    return x + 1


"""
BREAK = ("break", "GB0059", 'print("a")')
ENOUGH = "every marked function was called, and 3 s and 32 further calls brought nothing new"


@dataclass(frozen=True)
class Program:
    """What follows the compiled function, what its row then says, and how long (in seconds) it may take."""

    text: str
    detail: str = ""
    stopped: str | None = None
    outcome: Outcome = Outcome.TRACED
    timeout: float = 60.0
    needs: str = "torch"


TRAIN = """\
model = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOADER = """\
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 40 if FOREVER else 8

    def __getitem__(self, index):
        return torch.ones(3)


def main():
    sampler = torch.utils.data.BatchSampler(Endless(), 1, False) if FOREVER else None
    loader = torch.utils.data.DataLoader(Data(), batch_sampler=sampler, num_workers=2, persistent_workers=True)
    for batch in loader:
        f(batch[0])


class Endless(torch.utils.data.Sampler):
    def __iter__(self):
        while True:
            yield 0


if __name__ == "__main__":
    main()
"""

PROGRAMS = {
    "argparse with defaults": Program(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--size', type=int, default=3)\n"
        "parser.add_argument('--device', choices=['cpu', 'cuda'], default='cuda')\nargs = parser.parse_args()\n"
        "f(torch.ones(args.size, device=args.device))\n"
    ),
    "argparse that asks for more": Program(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--data', required=True)\nargs = parser.parse_args()\n"
        "f(torch.ones(3))\n",
        "the program ended because of its arguments (the following arguments are required: --data; "
        "give them to it with `[tool.graphbreak] entries` in pyproject.toml) before it was called",
        outcome=Outcome.NOT_REACHED,
    ),
    "a loop without an end": Program("while True:\n    f(torch.ones(3))\n    time.sleep(0.01)\n", stopped=ENOUGH),
    "a loop without an end that swallows everything": Program(
        "while True:\n    try:\n        f(torch.ones(3))\n        time.sleep(0.01)\n    except BaseException:\n        pass\n",
        stopped=ENOUGH,
    ),
    "a long training": Program(
        TRAIN
        + "for epoch in range(10**9):\n    optimizer.zero_grad()\n    f(model(torch.ones(2, 3))).sum().backward()\n    optimizer.step()\n",
        stopped=ENOUGH,
    ),
    "a long training in a thread": Program(
        "import threading\ndef train():\n    while True:\n        f(torch.ones(3))\n        time.sleep(0.01)\n"
        "thread = threading.Thread(target=train)\nthread.start()\nthread.join()\n",
        stopped=ENOUGH,
    ),
    "a loop that waits": Program(
        "f(torch.ones(3))\nwhile True:\n    time.sleep(0.1)\n",
        "the program had not ended after 4 s; what was found until then is shown",
        outcome=Outcome.TIMED_OUT,
        timeout=4.0,
    ),
    "a thread of its own that goes on": Program(
        "import threading\ndef go():\n    while True:\n        time.sleep(0.1)\nthreading.Thread(target=go, daemon=True).start()\n"
        "f(torch.ones(3))\n"
    ),
    "loader processes": Program("FOREVER = False\n" + LOADER),
    "loader processes without an end": Program("FOREVER = True\n" + LOADER, stopped=ENOUGH),
    "compiled calls in a process of its own": Program(
        "import os\nf(torch.ones(3))\nfor _ in range(40):\n    f(torch.ones(3))\ntime.sleep(3.2)\nif (child := os.fork()) == 0:\n"
        "    f(torch.ones(3))\n    os._exit(7)\nassert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    ),
    "a program that is slow and then ends": Program(
        "for _ in range(20):\n    f(torch.ones(3))\ntime.sleep(3.2)\nf(torch.ones(3))\nprint('the end')\n"
    ),
    "a bar of progress": Program("from tqdm import tqdm\nfor _ in tqdm(range(3), file=sys.stderr):\n    f(torch.ones(3))\n", needs="tqdm"),
    "a question": Program(
        "if input('sure? ') == 'y':\n    f(torch.ones(3))\n",
        "the program raised EOFError: EOF when reading a line before it was called",
        outcome=Outcome.RAISED,
    ),
    "what comes in": Program("f(torch.ones(3 + len(sys.stdin.read())))\n"),
    "an exit in the middle": Program("f(torch.ones(3))\nsys.exit(3)\n"),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_program_is_ended_as_it_should_be(harness: Harness, tmp_path: Path, program: Program) -> None:
    if not worker_has(program.needs):
        pytest.skip(f"needs {program.needs}")
    report = harness.write_and_analyse(tmp_path / "main.py", HEAD + program.text, timeout=program.timeout)
    row = only(report)
    assert (row.outcome, row.detail, row.stopped) == (program.outcome, program.detail, program.stopped), report.output
    assert ("Traceback" in report.output) == (program.outcome is Outcome.RAISED), report.output
    called = program.outcome in (Outcome.TRACED, Outcome.TIMED_OUT)
    assert [found for found in squiggles(report) if found[0] in ("break", "skipped")] == ([BREAK] if called else [])
    harness.wait_for_the_end_of_jobs(10)

"""`graphbreak record`: programs run as they are, what they called is kept without data, and the model's file alone is traced with that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphbreak.core.findings import Kind, Outcome
from graphbreak.core.recorded import merged_calls
from harness import INTERPRETER, Harness, of_kind, worker_has

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.record.__main__ import Measured

SERVER = Path(__file__).parent.parent / "server"
MODEL = """\
import dataclasses
import torch
from torch import nn


@dataclasses.dataclass
class Config:
    vocabulary: int = 500
    width: int = 16


@dataclasses.dataclass
class Batch:
    ids: torch.Tensor
    name: str = "train"


class Net(nn.Module):
    def __init__(self, config: Config, *, layers=2, act=None):
        super().__init__()
        self.table = nn.Embedding(config.vocabulary, config.width)
        self.layers = nn.ModuleList(nn.Linear(config.width, config.width) for _ in range(layers))
        self.act = act or nn.Identity()

    def forward(self, ids, mask=None):
        x = self.table(ids)
        for layer in self.layers:
            x = self.act(layer(x))
        print("layers")
        return (x if mask is None else x * mask[..., None]).sum()

    def score(self, ids):
        return self.forward(ids) * 2


def loss(batch: Batch, weight=1.0):
    mean = batch.ids.float().mean()
    print(batch.name)
    return mean * weight


def classify(scores, labels, ignored=-100):
    mean = torch.nn.functional.cross_entropy(scores, labels, ignore_index=ignored)
    if bool((labels == ignored).any()):
        print("some are ignored")
    return mean


def gather(rows, neighbours):
    there = neighbours != -1
    if int(neighbours.min()) < -1:
        raise IndexError("no such row")
    return torch.nn.functional.embedding(neighbours.masked_fill(~there, 0), rows) * there[..., None]


class Boxes(torch.Tensor):
    pass


def areas(boxes):
    print(f"a {type(boxes).__name__} of {len(boxes)}")
    return boxes[:, 2] * boxes[:, 3]


@torch.compile(backend="eager")
def scale(x, factors):
    return x * factors["a"][0] + factors["b"]
"""


MAIN = """\
import functools
import os
import subprocess
import sys
import torch
from model import Batch, Boxes, Config, Net, areas, classify, gather, loss, scale

compiled = functools.partial(torch.compile, backend="eager")
torch.manual_seed(0)
ids = torch.arange(28).reshape(4, 7) + 1


def net(layers):
    return Net(Config(vocabulary=30), layers=layers, act=torch.nn.ReLU())


def token(api_key, x):
    return x + len(api_key)


def outer():
    def inner(x):
        return x + 1

    return compiled(inner)


if sys.argv[1:] == ["child"]:
    compiled(net(6))(ids)
    os._exit(0)
fast = compiled(net(1))
for step in range(3):
    fast(ids + (step == 2), mask=torch.ones(4, 7)).backward()
model = net(2)
model.compile(backend="eager")
model(ids)
model = net(3).eval().bfloat16().requires_grad_(False)
with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
    compiled(model, dynamic=True)(ids)
compiled(net(4).score)(ids)
compiled(loss)(Batch(ids, "a"), weight=0.5)
compiled(functools.partial(loss, weight=2.0))(Batch(ids[:2]))
scale(torch.randn(7, 4).t().requires_grad_(), {"a": (torch.ones(4, 1) * 2, None), "b": 3})
labels = torch.arange(40) % 20
classifier = compiled(classify)
classifier(torch.randn(40, 20), labels % 19)
classifier(torch.randn(40, 20), labels.masked_fill(labels > 15, -100))
compiled(classify)(torch.randn(40, 20), labels.masked_fill(labels == 3, 255), ignored=255)
compiled(gather)(torch.randn(9, 2), torch.tensor([[8, 3, -1], [2, -1, -1]]))
compiled(gather)(torch.randn(9, 2), torch.tensor([-1]))
compiled(scale)(torch.arange(-5, 5), {"a": [1], "b": 2})
compiled(areas)(torch.ones(4, 4).as_subclass(Boxes).requires_grad_())
compiled(token)("0123456789", ids)
outer()(ids)
compiled(torch.nn.Linear(3, 3))(torch.ones(2, 3))
subprocess.run([sys.executable, __file__, "child"], check=True)
"""
ACT = {"make": "torch.nn.modules.activation:ReLU", "kwargs": {"inplace": False}}
CONFIG = {"make": "model.py::Config", "kwargs": {"vocabulary": 30, "width": 16}}
IDS = {"tensor": "i64[4, 7]", "range": [1, 28]}


def net(layers: int, **state: Any) -> dict[str, Any]:
    """How the model is made, as it is written down."""
    return {"make": "model.py::Net", "kwargs": {"config": CONFIG, "layers": layers, "act": ACT}, **state}


def batch(ids: dict[str, Any], name: str) -> dict[str, Any]:
    return {"make": "model.py::Batch", "kwargs": {"ids": ids, "name": name}}


CALLS: dict[str, list[dict[str, Any]]] = {
    "model.py::Net.forward": [
        {
            "self": net(1),
            "as": "module",
            "inputs": {"ids": {"tensor": "i64[4, 7]", "range": [1, 29]}, "mask": {"tensor": "f32[4, 7]", "range": [0, 1]}},
        },
        {"self": net(2), "as": "module", "inputs": {"ids": IDS}},
        {
            "self": net(3, train=False, dtype="bf16", frozen=True),
            "as": "module",
            "inputs": {"ids": IDS},
            "dynamic": True,
            "inference": True,
            "autocast": {"device": "cpu", "dtype": "bf16"},
        },
        {"self": net(6), "as": "module", "inputs": {"ids": IDS}},
    ],
    "model.py::Net.score": [{"self": net(4), "as": "method", "inputs": {"ids": IDS}}],
    "model.py::loss": [
        {"inputs": {"batch": batch(IDS, "a"), "weight": 0.5}},
        {"inputs": {"batch": batch({"tensor": "i64[2, 7]", "range": [1, 14]}, "train"), "weight": 2.0}},
    ],
    "model.py::scale": [
        {
            "inputs": {
                "x": {"tensor": "f32[4, 7]", "strides": [1, 4], "grad": True},
                "factors": {"dict": {"a": {"tuple": [{"tensor": "f32[4, 1]", "range": [0, None]}, None]}, "b": 3}},
            }
        },
        {"inputs": {"x": {"tensor": "i64[10]", "range": [-5, 4]}, "factors": {"dict": {"a": [1], "b": 2}}}},
    ],
    "model.py::areas": [{"inputs": {"boxes": {"tensor": "f32[4, 4]", "class": "model.py::Boxes", "grad": True}}}],
    "model.py::classify": [
        {"inputs": {"scores": {"tensor": "f32[40, 20]"}, "labels": {"tensor": "i64[40]", "range": [0, 18], "also": [-100]}}},
        {"inputs": {"scores": {"tensor": "f32[40, 20]"}, "labels": {"tensor": "i64[40]", "range": [0, 19], "also": [255]}, "ignored": 255}},
    ],
    "model.py::gather": [
        {"inputs": {"rows": {"tensor": "f32[9, 2]"}, "neighbours": {"tensor": "i64[2, 3]", "range": [2, 8], "also": [-1]}}},
        {"inputs": {"rows": {"tensor": "f32[9, 2]"}, "neighbours": {"tensor": "i64[1]", "also": [-1]}}},
    ],
}
NOTES = [
    "main.py::token: a call is left out, for `api_key` cannot be made again: it may be a secret",
    "main.py: outer.<locals>.inner is defined inside a function, so it cannot be called again without what runs that",
    "Linear.forward belongs to a library; what calls it has to be traced as it is",
    "recorded 7 functions with 14 different calls in .graphbreak/inputs.json",
]


def record(folder: Path, *command: str, status: int = 0, **variables: str) -> str:
    """Record a command in a folder; returns what is printed."""
    environment = {**os.environ, "PYTHONPATH": str(SERVER), **variables}
    done = subprocess.run(
        [sys.executable, "-m", "graphbreak", "record", "--", *command],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def recorded(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return dict(json.loads((folder / ".graphbreak/inputs.json").read_text())["functions"])


def in_order(calls: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(call, sort_keys=True) for call in calls)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which a program was recorded; what that printed is in `printed`."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "model.py").write_text(MODEL)
    (folder / "main.py").write_text(MAIN)
    (folder / "printed").write_text(record(folder, INTERPRETER, "main.py"))
    return folder


def test_the_calls_of_a_program_are_written_down(project: Path) -> None:
    found = recorded(project)
    assert {name: in_order(calls) for name, calls in found.items()} == {name: in_order(calls) for name, calls in CALLS.items()}
    text = (project / ".graphbreak/inputs.json").read_text()
    assert str(project) not in text
    assert len(max(text.splitlines(), key=len)) <= 120
    printed = (project / "printed").read_text()
    assert [note for note in NOTES if note not in printed] == []


def test_the_model_alone_is_traced_with_them(harness: Harness, project: Path) -> None:
    report = harness.analyse(project / "model.py")
    assert report.problems == ()
    rows = {row.name: row for row in report.functions}
    assert {name: (row.outcome, row.graphs > 0, {one.source for one in row.inputs}) for name, row in rows.items()} == {
        name.partition("::")[2]: (Outcome.TRACED, True, {"recorded"}) for name in CALLS
    }
    assert not of_kind(report, Kind.RAISED), report.output
    assert {inputs.summary for inputs in rows["scale"].inputs} == {
        "x: f32[4, 7] with grad, factors: {'a': (f32[4, 1], None), 'b': 3}",
        "x: i64[10], factors: {'a': [1], 'b': 2}",
    }
    assert "a Boxes of 4" in report.output
    assert report.output.count("some are ignored") == 2
    assert rows["Net.forward"].breaks + rows["Net.forward"].skipped == 1


def test_recording_again_changes_nothing(project: Path) -> None:
    before = (project / ".graphbreak/inputs.json").read_bytes()
    record(project, INTERPRETER, "main.py")
    assert (project / ".graphbreak/inputs.json").read_bytes() == before


def merged(*samples: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a tensor that several processes saw."""
    parts = [{"functions": {"m.py::f": [{"inputs": {"x": {"tensor": "i64[9]", **sample}}}]}} for sample in samples]
    ((call,),) = merged_calls(parts)[0].values()
    found = dict(call["inputs"]["x"])
    assert found.pop("tensor") == "i64[9]"
    return found


MERGED = {
    "one without": ([{"range": [2, 7]}, {"range": [0, 3], "also": [-100]}], {"range": [0, 7], "also": [-100]}),
    "two of a kind": ([{"range": [2, 7], "also": [-1]}, {"range": [0, 3], "also": [-100]}], {"range": [0, 7], "also": [-100, -1]}),
    "one that is ignored whole": ([{"also": [-100]}, {"range": [0, 3]}], {"range": [0, 3], "also": [-100]}),
    "one that another's range holds": ([{"range": [0, 3], "also": [255]}, {"range": [0, 300]}], {"range": [0, 300]}),
    "signed numbers": ([{"range": [-9, 3]}, {"range": [0, 3], "also": [-20, 8]}], {"range": [-20, 8]}),
    "too many above": (
        [{"range": [0, 3], "also": [-1, 50, 60]}, {"range": [0, 3], "also": [70, 80]}], {"range": [0, 80], "also": [-1]},
    ),
    "too many below": ([{"also": [-9, -8, -7]}, {"range": [0, 3], "also": [-6, -5]}], {"range": [-9, 3]}),
    "one that says nothing": ([{}, {"range": [0, 3], "also": [-6, -5]}], {}),
    "floats": ([{"range": [0, 1]}, {"range": [0, None]}], {"range": [0, None]}),
}  # fmt: skip


@pytest.mark.parametrize(("samples", "kept"), MERGED.values(), ids=MERGED.keys())
def test_values_that_lie_apart_stay_apart_when_calls_are_put_together(samples: list[dict[str, Any]], kept: dict[str, Any]) -> None:
    assert merged(*samples) == merged(*reversed(samples)) == kept


def test_a_file_from_before_values_were_told_apart_is_mended_by_recording_again(tmp_path: Path, harness: Harness, project: Path) -> None:
    (tmp_path / ".graphbreak").mkdir()
    kept = tmp_path / ".graphbreak/inputs.json"
    kept.write_text((project / ".graphbreak/inputs.json").read_text().replace('"range": [0, 18], "also": [-100]', '"range": [-100, 18]'))
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "main.py").write_text(MAIN)
    before = harness.analyse(tmp_path / "model.py")
    assert [found.message for found in of_kind(before, Kind.RAISED) if "IndexError: Target" in found.message]
    record(tmp_path, INTERPRETER, "main.py")
    assert kept.read_text() == (project / ".graphbreak/inputs.json").read_text()


STALE = {
    "a function that is gone": ("def loss(", "def lost(", "There is no `loss` in {} any more, which {} has inputs for; record again."),
    "another parameter": (
        "ids, mask=None", "tokens, mask=None",
        "recorded inputs of `Net.forward` cannot be used: they do not fit its parameters: missing a required argument: 'tokens'",
    ),
    "another class": ("class Config:", "class Settings:", "cannot be used: there is no `Config` in model.py any more; record again"),
    "another constructor": ("*, layers=2", "*, depth=2", "`self` cannot be made: TypeError"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "sentence"), STALE.values(), ids=STALE.keys())
def test_what_no_longer_fits_is_said(harness: Harness, project: Path, old: str, new: str, sentence: str) -> None:
    text = MODEL.replace(old, new).replace(f": {old[6:-1]}", f": {new[6:-1]}" if old.startswith("class") else f": {old[6:-1]}")
    report = harness.analyse(project / "model.py", text)
    wanted = sentence.replace("{}", str(project / "model.py"), 1).replace("{}", str(project / ".graphbreak/inputs.json"), 1)
    assert [problem for problem in report.problems if wanted in problem], report.problems
    assert [row.name for row in report.functions if row.name == "scale" and row.outcome is Outcome.TRACED]


def test_a_file_of_inputs_that_is_none_is_said(harness: Harness, tmp_path: Path) -> None:
    (tmp_path / ".graphbreak").mkdir()
    (tmp_path / ".graphbreak/inputs.json").write_text("{")
    (tmp_path / "model.py").write_text(MODEL)
    (problem,) = harness.analyse(tmp_path / "model.py").problems
    assert problem.startswith(f"{tmp_path / '.graphbreak/inputs.json'} cannot be read, so no recorded inputs are used:")
    output = record(tmp_path, INTERPRETER, "-c", "import model, torch; model.scale(torch.ones(2), {'a': [1], 'b': 2})", status=2)
    assert "is not what was written by graphbreak record" in output


SCRIPT = "import torch\nfrom model import scale\n\n\ndef test_scale():\n    scale(torch.ones(2), {'a': [1], 'b': 2})\n"
WAYS: dict[str, tuple[dict[str, str], list[str]]] = {
    "a module": ({"pkg/__init__.py": "", "pkg/run.py": SCRIPT + "test_scale()\n"}, [INTERPRETER, "-m", "pkg.run"]),
    "a script in a folder": ({"scripts/run.py": SCRIPT + "test_scale()\n"}, [INTERPRETER, "scripts/run.py"]),
    "pytest": ({"test_it.py": SCRIPT}, [INTERPRETER, "-m", "pytest", "-q", "-p", "no:cacheprovider"]),
    "torchrun": (
        {
            "run.py": "import torch.distributed as dist\ndist.init_process_group('gloo')\n" + SCRIPT
            + "assert dist.get_world_size() == 2\nif dist.get_rank() == 1:\n    test_scale()\ndist.barrier()\n"
        },
        [INTERPRETER, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "run.py"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "command"), WAYS.values(), ids=WAYS.keys())
def test_programs_are_recorded_however_they_are_run(tmp_path: Path, files: dict[str, str], command: list[str]) -> None:
    if "pytest" in command and not worker_has("pytest"):
        pytest.skip("needs pytest")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("import sys\nprint('hidden', [p for p in sys.path if 'graphbreak' in p])\n")
    for name, text in {"model.py": MODEL, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    output = record(tmp_path, *command, PYTHONPATH=os.pathsep.join([str(tmp_path / "own"), str(SERVER), str(tmp_path)]))
    assert recorded(tmp_path) == {
        "model.py::scale": [{"inputs": {"x": {"tensor": "f32[2]", "range": [0, 1]}, "factors": {"dict": {"a": [1], "b": 2}}}}]
    }
    assert "hidden []" in output


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (["-c", "raise SystemExit(7)"], 7, "no call of a compiled function can be kept"),
        (["-c", "import torch"], 2, "no call of a compiled function can be kept"),
    ],
)
def test_the_status_is_the_programs_own(tmp_path: Path, command: list[str], status: int, words: str) -> None:
    assert words in record(tmp_path, INTERPRETER, *command, status=status)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    assert "no-such-program cannot be started" in record(tmp_path, "no-such-program", status=2)


def test_the_benchmark_compares_the_runs_of_each_pair() -> None:
    plain = [10.0, 20.0, 10.0, 40.0, 10.0, 10.0, 10.0, 10.0, 10.0]
    extra = [0.01, 0.02, 0.03, 0.04, 0.05, -0.02, 0.9, -0.5, 0.02]  # two that say nothing
    found = Measured("a program", [(one, one) for one in plain], [(one * (1 + more), one) for one, more in zip(plain, extra)])
    assert round(found.slowdown(0), 6) == 2
    assert found.interval == "-2.0 to +5.0 % (96%)"

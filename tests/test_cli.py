"""`graphbreak check`: what it prints, what its JSON has, and its exit status."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from graphbreak import __version__
from graphbreak.cli import main
from graphbreak.core.findings import Report
from graphbreak.core.requests import AnalysisRequest
from harness import INTERPRETER, PRINT, Harness

IMPORT = "import torch\n"
F = "@torch.compile\ndef f(x):\n    x = x * 2\n    print('a')\n    return x + 1\n"
CLEAN = "@torch.compile\ndef clean(x):\n    return x + 1\n"
LOOP = "@torch.compile\ndef loop(x):\n    for _ in range(2):\n        print('a')\n    return x + 1\n"
INTENDED = "@torch.compiler.disable\ndef report(x): pass\n\n@torch.compile\ndef g(x):\n    x = x * 2\n    report(x)\n    return x + 1\n"
CALLERS = """\
import torch


def util(y):
    print("log")
    return y


@torch.compile
def big(x):
    y = x * 2
    y = util(y)
    return y * 3


big(torch.randn(8, 16))
"""


class Command:
    """`graphbreak check` in a folder, with the session's workers in place of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def write(self, name: str, text: str | bytes) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def __call__(self, *arguments: str) -> tuple[int, str]:
        status = main(["check", "--python", INTERPRETER, *arguments])
        return status, self._capsys.readouterr().out

    def json(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        status, out = self("--format", "json", *arguments)
        result = json.loads(out)
        assert isinstance(result, dict)
        return status, result


@pytest.fixture
def check(harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    class Shared:
        async def analyse(
            self, request: AnalysisRequest, progress: Callable[[str], None], found: Callable[[Report], None] | None = None
        ) -> Report:
            return await asyncio.wrap_future(harness.submit(harness.engine.analyse(request, progress)))

        async def close(self) -> None:
            return

    monkeypatch.setattr("graphbreak.cli.check.Engine", Shared)
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path, capsys)


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    server = str(Path(__file__).parent.parent / "server")
    return subprocess.run(
        [sys.executable, "-m", "graphbreak", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": server, "COLUMNS": "80"},
    )


FAILING = "@torch.compile\ndef fails(x):\n    raise ValueError\n"
STATUSES = {
    "a break": (F + "f(torch.ones(3))\n", 1),
    "a whole function eager": (LOOP + "loop(torch.ones(3))\n", 1),
    "an exception": (CLEAN + "clean(torch.ones(3))\nraise ValueError\n", 1),
    "an error under fullgraph": (F.replace("compile", "compile(fullgraph=True)") + "try: f(torch.ones(3))\nexcept Exception: pass\n", 1),
    "an example that is no expression": ("# graphbreak: clean(\n" + CLEAN + "clean(torch.ones(3))\n", 1),
    "nothing": (CLEAN + "clean(torch.ones(3))\n", 0),
    "only an intended break": (INTENDED + "g(torch.ones(3))\n", 0),
    "only an ignored break": (F.replace("print('a')", "print('a')  # graphbreak: ignore[GB0059] wanted") + "f(torch.ones(3))\n", 0),
    "no marks": ("print('hello')\n", 0),
    "a function that nothing calls": (CLEAN, 0),
    "one that nothing calls beside a clean one": (CLEAN + F + "clean(torch.ones(3))\n", 1),
    "one that nothing can call": (CLEAN.replace("return x + 1", "raise ValueError"), 2),
    "one that nothing can call beside a clean one": (CLEAN + FAILING + "clean(torch.ones(3))\n", 2),
    "one that nothing calls beside a break": (CLEAN + F + "f(torch.ones(3))\n", 1),
    "a syntax error": (CLEAN + "clean(torch.ones(3))\ndef (:\n", 2),
    "an exit before the call": (CLEAN + "raise SystemExit(3)\n", 2),
}


@pytest.mark.parametrize(("text", "status"), STATUSES.values(), ids=STATUSES.keys())
def test_the_exit_status_says_what_was_found(check: Command, text: str, status: int) -> None:
    assert check(check.write("main.py", IMPORT + text))[0] == status


def test_the_json_has_the_keys_of_the_contract(check: Command) -> None:
    status, result = check.json(check.write("sub/main.py", CALLERS))
    assert status == 1
    assert result["version"] == 1
    assert {"python", "torch", "device", "sandbox"} <= result["environment"].keys()
    (function,) = result["functions"]
    assert {
        "path": "sub/main.py",
        "name": "big",
        "line": 10,
        "mark": {"path": "sub/main.py", "line": 9},
        "outcome": "traced",
        "detail": "",
        "stopped": None,
        "fullgraph": False,
        "inputs": [{"source": "call", "summary": "x: f32[8, 16]"}],
        "graphs": 2,
        "ops": 2,
        "breaks": 1,
        "skipped": 0,
    }.items() <= function.items()
    assert 0 < function["seconds"] < 60
    found, caller = result["diagnostics"]
    assert {
        "path": "sub/main.py",
        "range": {"start": {"line": 5, "column": 5}, "end": {"line": 5, "column": 17}},
        "severity": "warning",
        "kind": "break",
        "code": "GB0059",
        "gb_type": "Failed to trace builtin operator",
        "functions": ["big"],
        "ignored": False,
        "related": [],
    }.items() <= found.items()
    assert found["message"].startswith("Graph break: Failed to trace builtin operator. ")
    assert found["explanation"].startswith("Dynamo does not know how to trace builtin operator `print`")
    assert "Please report an issue to PyTorch." in found["hints"]
    assert found["url"].endswith("/gb0059.html")
    stack = [{key: frame[key] for key in ("path", "line", "function")} for frame in found["stack"]]
    assert stack == [{"path": "sub/main.py", "line": 12, "function": "big"}, {"path": "sub/main.py", "line": 5, "function": "util"}]
    assert not any(frame.get("library") for frame in found["stack"])
    assert {"function": "big", "path": "sub/main.py", "line": 10, "effect": "split"} in found["frames"]
    assert {"graphs": 2, "in_loop": False}.items() <= found["cost"].items()
    assert found["cost"]["hits"] >= 1
    assert [fix.keys() >= {"title", "safety", "verified"} for fix in found["fixes"]]
    assert all(fix["verified"] is None for fix in found["fixes"])
    assert (caller["kind"], caller["severity"], caller["code"]) == ("caller", "information", "GB0059")
    assert caller["range"] == {"start": {"line": 12, "column": 9}, "end": {"line": 12, "column": 16}}
    assert caller["related"][0].items() >= {"path": "sub/main.py", "line": 5}.items()
    assert caller.keys() == found.keys()


def test_columns_count_characters(check: Command) -> None:
    _, result = check.json(check.write("main.py", PRINT.replace('    print("mid")', "\ts = '🎉é'; print(\"mid\")").replace("    ", "\t")))
    assert result["diagnostics"][0]["range"] == {"start": {"line": 7, "column": 12}, "end": {"line": 7, "column": 24}}


def test_an_ignored_break_stays_in_the_json(check: Command) -> None:
    text = CALLERS.replace('print("log")', 'print("log")  # graphbreak: ignore[GB0059] wanted')
    status, result = check.json(check.write("main.py", text))
    assert status == 0
    assert [(found["kind"], found["ignored"]) for found in result["diagnostics"]] == [("break", True), ("caller", True)]


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        (["--ignore", "GB0059"], 1, ["GB0170"]),
        (["--ignore", "gb0059, GB0170"], 0, []),
        (["--select", "GB0059"], 1, ["GB0059"]),
        (["--select", "GB0059,GB0170"], 1, ["GB0059", "GB0170"]),
        (["--select", "GB0001"], 0, []),
        (["--select", "GB0059", "--ignore", "GB0059"], 0, []),
    ],
)
def test_codes_are_chosen(check: Command, arguments: list[str], status: int, shown: list[str]) -> None:
    text = F.replace("    return", "    if x.sum() > 0:\n        return x\n    return") + "f(torch.ones(3))\n"
    found_status, result = check.json(check.write("main.py", IMPORT + text), *arguments)
    assert found_status == status
    assert [found["code"] for found in result["diagnostics"]] == ["GB0059", "GB0170"]
    assert [found["code"] for found in result["diagnostics"] if not found["ignored"]] == shown


RUN_ME = "open('ran', 'w')\n"


def test_a_folder_is_searched_for_marked_files(check: Command) -> None:
    marked = IMPORT + F + "f(torch.ones(3))\n"
    check.write("one.py", marked)
    check.write("deep/er/two.py", marked)
    check.write("unmarked.py", RUN_ME)
    check.write("notes.txt", marked)
    check.write("binary.py", b"\xff\xfe torch.compile")
    check.write(".git/HEAD", "ref: refs/heads/main\n")
    check.write(".gitignore", "/generated/\n")
    for folder in (".venv", ".hidden", "venv", "node_modules", "lib/site-packages", "build", "own", "generated"):
        check.write(f"{folder}/three.py", RUN_ME + marked)
    check.write("own/pyvenv.cfg", "home = /usr\n")
    status, result = check.json(".")
    assert status == 1
    assert [function["path"] for function in result["functions"]] == ["deep/er/two.py", "one.py"]
    assert not list(check.folder.rglob("ran"))


def test_a_named_file_is_run_without_marks(check: Command) -> None:
    check.write("net.py", IMPORT + F)
    status, result = check.json(check.write("main.py", "import torch, net\nnet.f(torch.ones(3))\n"))
    assert status == 1
    assert [(function["path"], function["name"]) for function in result["functions"]] == [("net.py", "f")]


def test_a_file_that_two_entries_reach_is_told_once(check: Command) -> None:
    check.write("net.py", IMPORT + F)
    for name in ("a.py", "b.py"):
        check.write(name, "import torch, net\nfast = torch.compile(lambda x: x)\nnet.f(torch.ones(3))\nfast(torch.ones(3))\n")
    status, result = check.json(".", "--jobs", "2")
    assert status == 1
    rows = [(function["path"], function["name"], function["outcome"]) for function in result["functions"]]
    assert rows == [("a.py", "<lambda>", "traced"), ("b.py", "<lambda>", "traced"), ("net.py", "f", "traced")]
    assert [(found["path"], found["kind"], found["functions"]) for found in result["diagnostics"]] == [("net.py", "break", ["f"])]


def test_paths_are_relative_to_the_working_directory_where_they_can_be(check: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    check.write("inside/main.py", IMPORT + F + "f(torch.ones(3))\n")
    (check.folder / "elsewhere").mkdir()
    monkeypatch.chdir(check.folder / "elsewhere")
    _, result = check.json("../inside/main.py")
    assert result["diagnostics"][0]["path"] == str(check.folder / "inside/main.py")
    monkeypatch.chdir(check.folder / "inside")
    _, result = check.json(str(check.folder / "inside/main.py"))
    assert result["diagnostics"][0]["path"] == "main.py"


FRAMES = {
    "plain": ('    print("mid")', 'print("mid")'),
    "tabs": ('\tif True:\n\t\tprint("mid")', 'print("mid")'),
    "wide characters": ("    s = '漢字🎉'; print(\"mid\")", 'print("mid")'),
    "wide characters in the break": ('    print("漢字🎉")', 'print("漢字🎉")'),
    "tabs between": ('    x = x\t;\tprint("mid")', 'print("mid")'),
}


@pytest.mark.parametrize(("line", "expression"), FRAMES.values(), ids=FRAMES.keys())
def test_carets_stand_under_the_expression(check: Command, line: str, expression: str) -> None:
    text = PRINT.replace('    print("mid")', line)
    if line.startswith("\t"):
        text = text.replace("    ", "\t")
    status, out = check(check.write("main.py", text), "--color", "never")
    assert status == 1
    lines = out.splitlines()
    (number,) = [number for number, shown in enumerate(lines) if "^" in shown and not shown.strip(" │^")]
    code, carets = lines[number - 1], lines[number]
    assert expression in code
    assert cell_len(carets[: carets.index("^")]) == cell_len(code[: code.index(expression)])
    assert carets.count("^") == cell_len(expression)
    assert lines[0].startswith("main.py:")


def test_the_text_has_reason_callers_and_fixes(check: Command) -> None:
    status, out = check(check.write("main.py", CALLERS))
    assert status == 1
    assert "main.py:5:5 warning GB0059 (break) Graph break: Failed to trace builtin operator." in out
    assert "hint: Please report an issue to PyTorch." in out
    assert "caller: main.py:12:9 `util(y)`: Inherits a graph break in `util` (main.py:5)" in out
    assert "big (main.py:10) 2 graphs, 2 ops, 1 break with x: f32[8, 16] (from call)" in out
    assert out.splitlines()[-1].startswith("1 graph break in 1 compiled function")
    assert "\x1b" not in out


def test_colours_only_where_they_are_asked_for(check: Command) -> None:
    name = check.write("main.py", CALLERS)
    assert "\x1b[" in check(name, "--color", "always")[1]
    assert "\x1b[" not in check(name, "--color", "never")[1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1\n", "No function is marked for torch.compile in what was checked."),
        (IMPORT + CLEAN, "0 breaks with x: f32[2, 16] (a guess: clean(torch.randn(2, 16)))"),
        (
            IMPORT + "def main():\n    @torch.compile\n    def f(x): pass\n",
            "main.f (main.py:4) not-reached: nothing in this file calls it, and",
        ),
        (IMPORT + CLEAN + "def (:\n", "syntax-error"),
        (IMPORT + CLEAN + "clean(torch.ones(3))\n", "0 graph breaks in 1 compiled function"),
    ],
)
def test_the_text_says_what_was_not_analysed(check: Command, text: str, sentence: str) -> None:
    assert sentence in check(check.write("main.py", text))[1]


def test_a_path_that_is_not_there(check: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", check.write("main.py", "x = 1\n"), "nowhere.py"]) == 2
    assert "nowhere.py" in capsys.readouterr().err


def test_a_file_that_is_no_text(check: Command) -> None:
    status, result = check.json(check.write("main.py", b"\xff\xfe\x00"))
    assert status == 2
    assert result["problems"] == [f"{check.folder / 'main.py'} cannot be read as Python text."]


def test_no_torch_is_said_once_with_what_to_do(check: Command) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "none"], check=True, cwd=check.folder)
    python = str(check.folder / "none" / "bin" / "python")
    status, out = check(check.write("main.py", PRINT), "--python", python)
    assert status == 2
    assert f"no-environment: There is no torch in {python}. Install it there, or choose another interpreter." in out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check"],
        ["nonsense"],
        ["check", "--timeout", "0", "a.py"],
        ["check", "--timeout", "x", "a.py"],
        ["check", "--jobs", "0", "a.py"],
        ["check", "--format", "xml", "a.py"],
    ],
)
def test_bad_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_the_command_itself(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PRINT + "while True: pass\n")
    ended = run("check", "main.py", "--python", INTERPRETER, "--timeout", "1", folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "main.py:7:5 warning GB0059 (break)" in ended.stdout
    assert "had not ended after 1 s" in ended.stdout


def test_the_version() -> None:
    assert run("--version", folder=Path.cwd()).stdout == f"graphbreak {__version__}\n"

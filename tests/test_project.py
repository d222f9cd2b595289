"""`[tool.graphbreak]` in pyproject.toml: what is read, which file counts, and what is hidden by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphbreak.cli.check import merged
from graphbreak.core.findings import Report
from graphbreak.core.globs import matches
from graphbreak.core.project import ProjectSettings, read_project
from graphbreak.core.requests import Settings
from graphbreak.core.source import SourceFile
from graphbreak.lsp.results import Results
from graphbreak.tracer.project import ProjectReader
from harness import PRINT, Harness

FILE = "/work/pyproject.toml"

GOOD: list[tuple[Any, tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]] = [
    ({}, (), ()),
    ({"ignore": ["GB0059", "recompile"]}, ("GB0059", "RECOMPILE"), ()),
    ({"per-file-ignores": {"tests/**": ["gb0059"], "legacy.py": ["*"]}}, (), (("tests/**", ("GB0059",)), ("legacy.py", ("*",)))),
    ({"examples": {}, "entries": [], "sandbox": {}, "severity": {}}, (), ()),
]

WRONG: list[tuple[Any, list[str]]] = [
    ([], ["tool.graphbreak must be a table."]),
    ({"ignore": "GB0059"}, ['tool.graphbreak.ignore is ignored: expected a list of codes, such as ["GB0059"].']),
    ({"ignore": [59]}, ['tool.graphbreak.ignore is ignored: expected a list of codes, such as ["GB0059"].']),
    ({"ignore": ["GB59"]}, ["tool.graphbreak: `GB59` is not a code; codes look like GB0059."]),
    ({"per-file-ignores": []}, ["tool.graphbreak.per-file-ignores is ignored: expected a table of patterns, each with a list of codes."]),
    (
        {"per-file-ignores": {"a.py": "*"}},
        ['tool.graphbreak.per-file-ignores."a.py" is ignored: expected a list of codes, such as ["GB0059"].'],
    ),
    ({"colour": 1, "timeout": 2}, [f"tool.graphbreak has no setting `{key}`; it is ignored." for key in ("colour", "timeout")]),
]


@pytest.mark.parametrize(("table", "ignore", "per_file"), GOOD)
def test_good_settings_are_taken(table: Any, ignore: tuple[str, ...], per_file: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    assert read_project(FILE, table) == ProjectSettings(FILE, "/work", ignore, per_file)


@pytest.mark.parametrize(("table", "problems"), WRONG)
def test_wrong_settings_are_left_out_and_named(table: Any, problems: list[str]) -> None:
    assert read_project(FILE, table).problems == tuple(f"{FILE}: {problem}" for problem in problems)


def test_what_is_right_counts_beside_what_is_wrong() -> None:
    table = {"ignore": "GB0059", "colour": 1, "per-file-ignores": {"a.py": 1, "b.py": ["*"]}}
    settings = read_project(FILE, table)
    assert len(settings.problems) == 3
    assert settings.hides("/work/b.py", "GB0059")
    assert not settings.hides("/work/a.py", "GB0059")


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("tests/**", ["tests/a.py", "tests/unit/a.py"], ["tests", "src/tests/a.py", "tests.py"]),
        ("legacy.py", ["legacy.py"], ["src/legacy.py", "legacy.pyi"]),
        ("**/legacy.py", ["legacy.py", "src/legacy.py", "a/b/legacy.py"], ["a/legacy.py/b.py"]),
        ("*.py", ["a.py"], ["src/a.py"]),
        ("src/*/net_?.py", ["src/a/net_1.py"], ["src/net_1.py", "src/a/b/net_1.py", "src/a/net_12.py"]),
        ("src/**/net.py", ["src/net.py", "src/a/b/net.py"], ["net.py"]),
        ("./src/", ["src/a.py", "src/a/b.py"], ["src", "a.py"]),
        ("[ab].py", ["a.py"], ["c.py"]),
        ("**", ["a.py", "a/b.py"], []),
        ("", [], ["a.py"]),
        ("**/" * 12 + "x.py", ["/".join("a" * 30) + "/x.py"], ["/".join("a" * 30) + "/y.py"]),
    ],
)
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [matches(path, pattern) for path in yes] == [True] * len(yes)
    assert [matches(path, pattern) for path in no] == [False] * len(no)


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_nearest_file_with_a_table_of_ours_counts(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, '[tool.graphbreak]\nignore = ["GB0001"]\n')
    write(root, '[tool.graphbreak]\nignore = ["GB0002"]\n')
    write(root / "one", '[tool.graphbreak]\nignore = ["GB0003"]\n')
    write(root / "two", "[tool.ruff]\nline-length = 140\n")
    reader = ProjectReader([str(root)])
    expected = {"a.py": "GB0002", "one/a.py": "GB0003", "one/deep/er/a.py": "GB0003", "two/a.py": "GB0002"}
    assert {name: "".join(reader(str(root / name)).ignore) for name in expected} == expected
    assert reader(str(tmp_path / "a.py")) == ProjectSettings()
    nested = ProjectReader([str(root), str(root / "two")])
    assert nested(str(root / "two" / "a.py")) == ProjectSettings()


@pytest.mark.parametrize(
    ("text", "says"), [("[tool.graphbreak\n", "is not valid TOML"), ("\xff", "is not valid TOML"), (None, "cannot be read")]
)
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, text: str | None, says: str) -> None:
    write(tmp_path, '[tool.graphbreak]\nignore = ["GB0059"]\n')
    file = tmp_path / "one" / "pyproject.toml"
    if text is None:
        file.mkdir(parents=True)
    else:
        write(file.parent, "").write_bytes(text.encode("latin-1"))
    reader = ProjectReader([str(tmp_path)])
    settings = reader(str(tmp_path / "one" / "a.py"))
    assert reader(str(tmp_path / "one" / "b" / "b.py")) is settings
    (problem,) = settings.problems
    assert problem.startswith(f"{file} {says}, so its settings are not used: ")
    assert problem.endswith(".")
    assert not settings.ignore


TABLE = """\
[tool.graphbreak]
colour = 1
[tool.graphbreak.per-file-ignores]
"old/**" = ["GB0059"]
"""


def test_a_real_run(harness: Harness, tmp_path: Path) -> None:
    write(tmp_path, TABLE)
    entry = (
        "import torch\nfrom old.net import scale\n\n\n@torch.compile\ndef f(x):\n    x = scale(x)\n    print(x.shape)\n    return x + 1\n"
    )
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "net.py").write_text("def scale(x):\n    print('old')\n    return x + 1\n")
    report = harness.write_and_analyse(tmp_path / "a.py", entry + "\n\nf(torch.randn(4))\n")
    assert [(Path(one.path).name, one.kind.value, one.ignored) for one in report.diagnostics if one.code == "GB0059"] == [
        ("net.py", "break", True),
        ("a.py", "caller", True),
        ("a.py", "break", False),
    ]
    assert report.problems == (f"{tmp_path / 'pyproject.toml'}: tool.graphbreak has no setting `colour`; it is ignored.",)
    assert merged([report, report]).problems == report.problems


def test_the_editors_setting_adds_to_the_project(harness: Harness, tmp_path: Path) -> None:
    write(tmp_path, '[tool.graphbreak]\nignore = ["GB0170"]\n')
    text = PRINT.replace("    return x + 1", "    if x.sum() > 0:\n        return x\n    return x + 1")
    (tmp_path / "a.py").write_text(text)
    report = harness.analyse(tmp_path / "a.py", settings=Settings(ignore=("gb0059",)))
    assert sorted((one.code, one.ignored) for one in report.diagnostics) == [("GB0059", True), ("GB0170", True)]


def test_problems_of_settings_are_no_reason_to_say_that_nothing_was_analysed() -> None:
    said = ("the settings are wrong",)
    assert merged([Report("/work/a.py", problems=said, settings_problems=said)]).status == 0
    assert merged([Report("/work/a.py", problems=("it died", *said), settings_problems=said)]).status == 2


def test_a_changed_pyproject_concerns_the_documents_below_it() -> None:
    results = Results()
    for entry in ("/work/one/a.py", "/work/two/b.py"):
        results.put(entry, Report(entry, sources={entry: SourceFile(entry, "")}))
    assert results.entries_with("/work/one/pyproject.toml") == ["/work/one/a.py"]
    assert results.entries_with("/work/pyproject.toml") == ["/work/one/a.py", "/work/two/b.py"]
    assert results.entries_with("/work/one/setup.cfg") == []

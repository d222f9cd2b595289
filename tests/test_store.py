"""Where runs are kept: bounded, on disk too, and nothing that is damaged is heeded or fatal; and what makes a kept run out of date."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from graphbreak.core.kept import Kept
from graphbreak.core.requests import Permissions
from graphbreak.tracer import facts
from graphbreak.tracer.engine import Engine
from graphbreak.tracer.grants import write_state
from graphbreak.tracer.prepared import Ran
from graphbreak.tracer.reuse import Asked, Reuse
from graphbreak.tracer.store import Store, default_folder
from graphbreak.worker.protocol import Message
from harness import Harness
from kept_runs import job_of, kept_run

TEXT = "x = {}\n@torch.compile\n"


def kept(number: int, question: str = "q") -> Kept:
    text = TEXT.format(number)
    return replace(kept_run(), question=question, job=job_of(text), texts={"/w/a.py": text}, made=float(number))


def found(store: Store, number: int, question: str = "q") -> bool:
    text = TEXT.format(number)
    return any(one.job.text == text for one in store.candidates(question, text))


def test_what_was_kept_is_found_again_by_another_store(tmp_path: Path) -> None:
    Store(tmp_path / "runs").put(kept(1))
    store = Store(tmp_path / "runs")
    assert store.candidates("q", TEXT.format(1)) == [kept(1)]
    assert store.candidates("q", "another text") == [kept(1)]
    assert store.candidates("other", TEXT.format(1)) == []


def test_the_least_recently_used_are_dropped(tmp_path: Path) -> None:
    store = Store(tmp_path, most_files=3)
    for number in range(3):
        store.put(kept(number))
        os.utime(max(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime), (1000 + number, 1000 + number))
    store.used(kept(0))
    store.put(kept(3))
    assert len(list(tmp_path.iterdir())) == 3
    assert [found(Store(tmp_path), number) for number in range(4)] == [True, False, True, True]


def test_the_folder_keeps_to_its_size(tmp_path: Path) -> None:
    store = Store(tmp_path, most_bytes=3000)
    for number in range(20):
        store.put(kept(number))
    assert 0 < sum(path.stat().st_size for path in tmp_path.iterdir()) <= 3000


def test_one_program_does_not_take_all_the_room(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(kept(0, "other"))
    for number in range(40):
        store.put(kept(number))
    assert 1 < len(list(tmp_path.glob("q.*"))) < 20
    assert found(Store(tmp_path), 0, "other")


def test_large_runs_do_not_stay_in_memory(tmp_path: Path) -> None:
    store = Store(None)
    for number in range(8):
        store.put(replace(kept(number), output=os.urandom(100_000).hex()))
    assert sum(found(store, number) for number in range(8)) < 5
    assert found(store, 7)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-5], lambda data: b"", lambda data: b"graphbreak run 0\n" + data[17:], lambda data: data * 2]
)
def test_a_damaged_file_is_dropped_with_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]) -> None:
    Store(tmp_path).put(kept(1))
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert Store(tmp_path).candidates("q", TEXT.format(1)) == []
    assert not file.exists()
    assert f"The kept result {file} was dropped" in caplog.text


def test_what_a_crash_left_half_written_is_no_result_and_goes(tmp_path: Path) -> None:
    (tmp_path / "tmp1234").write_bytes(b"graphbreak")
    os.utime(tmp_path / "tmp1234", (1000, 1000))
    store = Store(tmp_path)
    store.put(kept(1))
    assert found(store, 1)
    assert [path.suffix for path in tmp_path.iterdir()] == [".run"]


def test_a_folder_that_cannot_be_used_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "runs")
    store.put(kept(1))
    assert found(store, 1)
    assert not found(Store(tmp_path / "file" / "runs"), 1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is a full disk")
def test_a_full_disk_is_no_obstacle_and_is_not_filled_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_a_full_disk(**where: Path) -> tuple[int, str]:
        beside = where["dir"] / "half"
        beside.write_bytes(b"")
        return os.open("/dev/full", os.O_WRONLY), str(beside)

    monkeypatch.setattr("tempfile.mkstemp", on_a_full_disk)
    store = Store(tmp_path)
    store.put(kept(1))
    assert found(store, 1), "it is kept in memory"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="No space left"):
        write_state(tmp_path / "grants.json", {"a": 1})
    assert list(tmp_path.iterdir()) == []


def test_beginning_anew_heeds_nothing_older(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(kept(1))
    store.begin_anew()
    assert not found(store, 1)


async def test_a_restart_of_the_engine_begins_anew(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(kept(1))
    await Engine(store=store).restart()
    assert not found(store, 1)


def test_the_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAPHBREAK_CACHE", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.setenv("GRAPHBREAK_CACHE", "")
    assert default_folder() is None
    monkeypatch.delenv("GRAPHBREAK_CACHE")
    assert default_folder() is not None


PROGRAM = """\
import helper
import torch

try:
    import extra
except ImportError:
    extra = None
try:
    size = len(open("size.txt").read())
except OSError:
    size = 2
with open("data.txt") as file:
    size += len(file.read())


@torch.compile
def f(x):
    helper.tell(x)
    return x


f(torch.ones(size))
"""
HELPER = "def tell(x):\n    print('mid')\n\n\ndef other():\n    return 1\n"


class Listening(Reuse):
    """Remembers what it was asked to keep."""

    def __init__(self, store: Store, variables: dict[str, str]) -> None:
        super().__init__(store, variables)
        self.variables = variables
        self.asked: list[Asked] = []

    def keep(self, asked: Asked, ran: Ran, messages: Sequence[Message], libraries: Mapping[str, str]) -> None:
        self.asked.append(asked)
        super().keep(asked, ran, messages, libraries)


class Project:
    """A program with a helper and a data file, and what was kept of its run."""

    def __init__(self, folder: Path, reuse: Listening, asked: Asked) -> None:
        self.folder, self.reuse, self.asked = folder, reuse, asked

    def found(self, **changes: object) -> bool:
        """Whether a run is known to be needless, for the same question but for some changes."""
        return self.reuse.find(replace(self.asked, **changes)) is not None  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def kept_project(harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("project")
    for name, text in (("main.py", PROGRAM), ("helper.py", HELPER), ("data.txt", "12")):
        (folder / name).write_text(text)
    harness.engine.reuse = reuse = Listening(Store(folder.parent / "kept"), os.environ.copy())
    harness.analyse(folder / "main.py")
    harness.submit(reuse.settled()).result(20)
    harness.engine.reuse = None
    (run,) = [one for one in reuse.asked if one.job.path]
    return Project(folder, reuse, run)


@pytest.fixture
def project(kept_project: Project) -> Iterator[Project]:
    """As it was traced, before and afterwards."""
    before = {path: path.read_text() for path in kept_project.folder.iterdir()}
    assert kept_project.found()
    yield kept_project
    for path in kept_project.folder.iterdir():
        if path not in before:
            path.unlink()
    for path, text in before.items():
        path.write_text(text)
    assert kept_project.found()


def test_a_helper_that_says_something_else_is_seen(project: Project) -> None:
    for text in (HELPER.replace("mid", "other"), HELPER.replace("def other", "def another"), ""):
        (project.folder / "helper.py").write_text(text)
        assert not project.found()
    for text in ("# a remark\n" + HELPER, HELPER.replace("return 1", "return 2")):
        (project.folder / "helper.py").write_text(text)
        assert project.found()
    (project.folder / "helper.py").unlink()
    assert not project.found()


def test_the_text_in_the_editor_counts_and_not_the_one_on_disk(project: Project) -> None:
    helper = project.folder / "helper.py"
    helper.write_text("raise RuntimeError\n")
    overlay = {**project.asked.job.overlay, str(helper): HELPER}
    assert project.found(job=replace(project.asked.job, overlay=overlay))
    helper.write_text(HELPER)
    overlay[str(helper)] = HELPER.replace("mid", "other")
    assert not project.found(job=replace(project.asked.job, overlay=overlay))


@pytest.mark.parametrize("name", ["data.txt", "size.txt", "extra.py", "extra", "torch.py"])
def test_a_file_that_was_read_or_looked_for_is_seen(project: Project, name: str) -> None:
    (project.folder / name).write_text("123")
    assert not project.found()


@pytest.mark.parametrize("name", ["notes.md", ".main.py.swp", "run.log"])
def test_other_files_do_not_count(project: Project, name: str) -> None:
    (project.folder / name).write_text("123")
    assert project.found()


def test_other_circumstances_are_another_question(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    job = project.asked.job
    assert not project.found(job=replace(job, device="cpu"))
    assert not project.found(job=replace(job, arguments=["--fast"]))
    assert not project.found(job=replace(job, text=PROGRAM.replace("size = 2", "size = 3")))
    assert not project.found(permissions=Permissions(network=True))
    assert not project.found(timeout=1.0)
    assert not project.found(interpreter="/usr/bin/python3")
    assert project.found(job=replace(job, overlay={**job.overlay, "/elsewhere/other.py": "x = 1"}))
    monkeypatch.setitem(project.reuse.variables, "TORCH_SOMETHING", "1")
    assert not project.found()


def test_another_package_or_torch_is_seen(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    real = facts.libraries
    for place in list(real(project.asked.interpreter)):
        monkeypatch.setattr(facts, "libraries", lambda interpreter, place=place: {**real(interpreter), place: "0 0"})
        assert not project.found()


DOUBTFUL = """\
import os
import torch

@torch.compile
def f(x):
    return x + 1

f(torch.ones(2))
"""


@pytest.mark.parametrize("act", ["os.waitpid(os.fork() or os._exit(0), 0)", "raise SystemExit(os.path.exists('x'))"])
def test_what_may_depend_on_more_is_not_kept(harness: Harness, tmp_path: Path, act: str) -> None:
    (tmp_path / "main.py").write_text(DOUBTFUL + act + "\n")
    harness.engine.reuse = harness.engine.reusing(Store(tmp_path / "kept"))
    try:
        harness.analyse(tmp_path / "main.py")
        harness.submit(harness.engine.reuse.settled()).result(20)
    finally:
        harness.engine.reuse = None
    assert not list(tmp_path.glob("kept/*"))

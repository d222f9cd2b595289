"""Kept runs as bytes; when two texts are one program, and where what was said of the one stands in the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbreak.core.doubts import asks_for_variables, is_open_ended, looks_at_text, words_of
from graphbreak.core.kept import Kept, Unreadable, answers, importable, needed_of, packed, question, unpacked
from graphbreak.core.relocating import MOVABLE
from graphbreak.core.sameness import Moved, same_program
from graphbreak.worker import protocol
from graphbreak.worker.protocol import BreakSeen, Ended, FrameCompiled, GraphSeen, Hello, Job, Needed, Place
from kept_runs import PATH, PROGRAM, job_of, kept_run

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
WHOLE = st.integers(1, 2**30)
LINES = st.lists(st.tuples(TEXT, WHOLE).map(list), max_size=3)
st.register_type_strategy(str, TEXT)
st.register_type_strategy(int, WHOLE)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(FrameCompiled, st.builds(FrameCompiled, lines=LINES))
st.register_type_strategy(GraphSeen, st.builds(GraphSeen, lines=LINES, ops=st.lists(st.tuples(TEXT, TEXT, WHOLE).map(list), max_size=3)))
RUNS = st.builds(
    Kept,
    question=TEXT,
    job=st.builds(Job, edited=st.none(), overlay=st.just({}), keep=st.just(0.0)),
    hello=st.from_type(Hello),
    layers=st.lists(TEXT, max_size=3).map(tuple),
    messages=st.lists(st.one_of(*(st.from_type(kind) for kind in MOVABLE)), max_size=4).map(tuple),
    ended=st.from_type(Ended),
    output=TEXT,
    needed=st.from_type(Needed),
    texts=st.dictionaries(TEXT, TEXT, max_size=3),
    facts=st.dictionaries(TEXT, TEXT, max_size=3),
    made=st.floats(0, 1e10),
)


NEEDED = Needed({PATH: ""}, {}, {}, {}, [[PATH, 10, "other"]], [], [])


@given(RUNS)
def test_a_kept_run_is_the_same_after_it_was_bytes(kept: Kept) -> None:
    assert unpacked(packed(kept)) == kept


@given(st.one_of(st.binary(max_size=300), st.builds(lambda kept, at, by: _damaged(kept, at, by), RUNS, WHOLE, st.integers(1, 255))))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        unpacked(data)


def _damaged(kept: Kept, at: int, by: int) -> bytes:
    data = bytearray(packed(kept))
    data[at % len(data)] ^= by
    return bytes(data)


@pytest.mark.parametrize(
    "needed",
    [
        replace(NEEDED, idle=[["/w/a.py", "x", "f"]]), replace(NEEDED, idle=[["/w/a.py"]]), replace(NEEDED, unseen=["forked"]),
        replace(NEEDED, files={str(number): "" for number in range(60_000)}), replace(NEEDED, programs={"a.py": ""}),
    ],
)  # fmt: skip
def test_what_a_worker_says_of_its_needs_is_checked(needed: Needed) -> None:
    assert needed_of([NEEDED], job_of(PROGRAM)) == NEEDED
    assert needed_of([needed], job_of(PROGRAM)) is None
    assert needed_of([NEEDED, NEEDED], job_of(PROGRAM)) is None
    assert needed_of([], job_of(PROGRAM)) is None


def test_what_names_places_in_words_of_its_own_is_never_moved() -> None:
    assert not {protocol.Failure, protocol.Explained, protocol.Denied, protocol.Needed, protocol.Focused} & set(MOVABLE)


def answer(kept: Kept, text: str) -> Kept | None:
    return answers(kept, job_of(text), {PATH: text})


def test_comments_and_layout_move_what_was_said() -> None:
    text = PROGRAM.replace("import torch\n", "# a remark\n\nimport torch\n").replace('    print("mid")', "\n    print( 'mid' )")
    moved = answer(kept_run(), text)
    assert moved is not None
    said, compiled = moved.messages
    assert isinstance(said, BreakSeen)
    assert isinstance(compiled, FrameCompiled)
    assert said.frames == [Place(PATH, 9, "f", 9, 4, 18, 6)]
    assert said.above == [Place(PATH, 17, "<module>")]
    assert (compiled.function, compiled.first_line, compiled.lines) == ("torch_dynamo_resume_in_f_at_9", 6, [[PATH, 9], [PATH, 10]])
    assert moved.needed.idle == [[PATH, 13, "other"]]
    assert moved.job == job_of(text)
    assert answer(moved, PROGRAM) is not None


@pytest.mark.parametrize("name", ["f", "<lambda>", "<listcomp>", "forward"])
def test_parts_of_functions_behind_a_break_are_named_for_their_line(name: str) -> None:
    kept = kept_run()
    part = FrameCompiled(0, "0/1", f"torch_dynamo_resume_in_{name}_at_6", PATH, 4, 0, 0.1)
    moved = answer(replace(kept, messages=(part,)), "\n" + PROGRAM)
    assert moved is not None
    assert isinstance(moved.messages[0], FrameCompiled)
    assert moved.messages[0].function == f"torch_dynamo_resume_in_{name}_at_7"


def test_a_text_that_shows_the_line_it_speaks_of_is_not_made_up() -> None:
    hint = f'File "{PATH}", line 6, in f, code: print("mid")'
    assert answer(kept_run(), PROGRAM.replace('print("mid")', 'print("mid")  # here')) is not None
    assert answer(kept_run(hint=hint), PROGRAM.replace('print("mid")', 'print("mid")  # here')) is None
    moved = answer(kept_run(hint=hint), "\n" + PROGRAM)
    assert moved is not None
    assert isinstance(moved.messages[0], BreakSeen)
    assert "line 7, in f" in moved.messages[0].text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return [n for _ in x]", "return 5"),
        ("return [n for _ in x]", "import os\n    while True:\n        print(os)"),
        ("    return [n for _ in x]", "    # nothing\n    return [n for _ in x] * 2"),
    ],
)
def test_a_function_that_never_ran_may_say_anything(old: str, new: str) -> None:
    assert answer(kept_run(), PROGRAM.replace(old, new)) is not None
    assert answer(kept_run(idle=[]), PROGRAM.replace(old, new)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n=2", "n=3"),
        ("def other", "def another"),
        ("def other", "@staticmethod\ndef other"),
        ("    return [n for _ in x]", '    "It says so."\n    return [n for _ in x]'),
        ("return [n for _ in x]", "yield 1"),
        ("return [n for _ in x]", "return super()"),
        ("return x\n", "return -x\n"),
        ("ones(2)", "ones(3)"),
        ("ones(2)", "ones(2.0)"),
        ("f(torch.ones(2))\n", "f(torch.ones(2))\ny = 1\n"),
        ("@torch.compile\n", "@torch.compile(fullgraph=False)\n"),
        ("def other", "def third(x):\n    return x\n\n\ndef other"),
    ],
)
def test_what_runs_or_can_be_seen_counts(old: str, new: str) -> None:
    assert answer(kept_run(), PROGRAM.replace(old, new)) is None


def test_nothing_is_moved_where_the_text_itself_counts() -> None:
    text = "# a remark\n" + PROGRAM
    assert answer(kept_run(), text) is not None
    assert answer(kept_run(quoted=[PATH]), text) is None
    assert answer(kept_run(files={PATH: "1"}), text) is None
    assert answer(kept_run("import inspect\n" + PROGRAM), "# a remark\nimport inspect\n" + PROGRAM) is None


def test_a_place_that_became_several_is_not_guessed() -> None:
    places = same_program("f(a, b)\n", "f(a,\n  b)\n", set())
    assert places is not None
    assert places.start(1, 5) == (2, 2)
    with pytest.raises(Moved):
        places.line(1)


@pytest.mark.parametrize(
    ("old", "new"), [("x = 0.0\n", "x = -0.0\n"), ("x = 1\n", "x = True\n"), ("x = 'a'\n", "x = b'a'\n"), ("x\n", "x(\n")]
)
def test_other_values_are_another_program(old: str, new: str) -> None:
    assert same_program(old, new, set()) is None


def test_jobs_have_one_name_whatever_their_texts_say() -> None:
    assert question(job_of(PROGRAM), ["python"]) == question(job_of("# a remark\n" + PROGRAM), ["python"])
    assert question(job_of(PROGRAM), ["python"]) != question(job_of(PROGRAM), ["other python"])
    assert question(Job(PATH, "", "/w", arguments=["1"]), []) != question(Job(PATH, "", "/w"), [])


@pytest.mark.parametrize(
    "text",
    [
        "import random\n", "from os.path import exists\n", "os.path.isfile(p)\n", "getattr(path, 'exists')()\n", "import subprocess as s\n",
        "model = AutoModel.from_pretrained('x')\n", "from datetime import datetime\n", "from os import (\n    path,\n    urandom,\n)\n",
    ],
)  # fmt: skip
def test_programs_that_may_depend_on_more_are_told_by_their_names(text: str) -> None:
    assert is_open_ended(words_of(text))


def test_common_words_are_no_reason_for_doubt() -> None:
    text = "# which random input exists?\ndef forward(self, input, time=0):\n    return torch.random.fork_rng(), input.access\n"
    assert not is_open_ended(words_of(text.replace(".access", "")))
    assert not looks_at_text(words_of(text))
    assert asks_for_variables(words_of("import os\nos.environ['A']\n"))


def test_names_that_an_import_may_find() -> None:
    assert importable(["__pycache__", "a.py", "b.txt", "pkg", "c.so", ".git"]) == ["a.py", "pkg", "c.so"]

"""What a `.gitignore` leaves out, line by line."""

from __future__ import annotations

import pytest

from graphbreak.core.gitignore import is_left_out, read_rules


@pytest.mark.parametrize(
    ("lines", "left_out", "kept"),
    [
        ("build/", ["build/", "deep/build/"], ["build", "builder/"]),
        ("*.gen.py", ["a.gen.py", "deep/a.gen.py"], ["a.py"]),
        ("/out", ["out", "out/"], ["deep/out"]),
        ("docs/*.py", ["docs/a.py"], ["docs/deep/a.py", "deep/docs/a.py"]),
        ("**/cache", ["cache", "a/b/cache"], ["cached"]),
        ("a/**/z.py", ["a/z.py", "a/b/c/z.py"], ["z.py"]),
        ("logs/**", ["logs/a.py", "logs/b/c.py"], ["logs"]),
        ("*.py\n!keep.py", ["a.py"], ["keep.py", "deep/keep.py"]),
        ("# comment\n\n\\#odd.py\ntrailing.py   ", ["#odd.py", "trailing.py"], ["# comment"]),
        ("v?.py\n[ab].py\n[!c]x.py", ["v1.py", "a.py", "dx.py"], ["v12.py", "c.py", "cx.py"]),
        ("[", [], ["[", "a"]),
    ],
)
def test_lines_are_read_as_git_reads_them(lines: str, left_out: list[str], kept: list[str]) -> None:
    rules = [read_rules("/w", lines)]
    for path in left_out:
        assert is_left_out("/w/" + path.rstrip("/"), path.endswith("/"), rules), path
    for path in kept:
        assert not is_left_out("/w/" + path.rstrip("/"), path.endswith("/"), rules), path


def test_the_innermost_file_that_speaks_of_a_path_counts() -> None:
    rules = [read_rules("/w", "*.py"), read_rules("/w/deep", "!*.py\nown.py")]
    assert is_left_out("/w/a.py", False, rules[:1])
    assert not is_left_out("/w/deep/a.py", False, rules)
    assert is_left_out("/w/deep/own.py", False, rules)

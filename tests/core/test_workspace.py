"""Which files are the user's own."""

from __future__ import annotations

import pytest

from graphbreak.core.workspace import Workspace

WORKSPACE = Workspace(("/home/me/project", "C:\\work"), ("/usr/lib/python3.11", "/home/me/project/py/lib"), "/home/me/project/torch")


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/home/me/project/train.py", True),
        ("/home/me/project/deep/er/net.py", True),
        ("C:\\work\\net.py", True),
        ("/home/me/project", False),
        ("/home/me/project2/train.py", False),
        ("/usr/lib/python3.11/copy.py", False),
        ("/home/me/project/py/lib/x.py", False),
        ("/home/me/project/py/library.py", True),
        ("/home/me/project/.venv/lib/python3.11/site-packages/lib/a.py", False),
        ("/home/me/project/dist-packages/a.py", False),
        ("C:\\work\\site-packages\\a.py", False),
        ("/home/me/project/my-site-packages/a.py", True),
        ("<frozen os>", False),
        ("<string>", False),
        ("", False),
    ],
)
def test_a_file_is_the_users_below_a_root_and_not_in_a_library(path: str, own: bool) -> None:
    assert WORKSPACE.owns(path) is own


def test_a_root_may_end_with_a_separator_or_be_everything() -> None:
    assert Workspace(("/w/",)).owns("/w/a.py")
    assert Workspace(("/",)).owns("/a.py")
    assert not Workspace(()).owns("/a.py")


@pytest.mark.parametrize(("path", "inside"), [("/v/torch/nn/a.py", True), ("/v/torchvision/a.py", False), ("/w/a.py", False)])
def test_what_lies_in_torch(path: str, inside: bool) -> None:
    assert Workspace(("/w",), (), "/v/torch").in_torch(path) is inside
    assert not Workspace(("/w",)).in_torch(path)

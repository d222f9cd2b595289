"""The built package, a browser and an editor. All of it is made once for these tests and gone at their end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, sync_playwright

from .code_server import CodeServer, chromium, pack
from .workbench import Workbench, eventually

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "build" / "e2e"
OTHERS = Path(__file__).parent / "extensions"
QUIET_BROWSER = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

CLEAN = """\
import torch


@torch.compile
def scale(x):
    x = x * 2
    return x + 1


scale(torch.randn(8, 16))
"""

BREAKING = CLEAN.replace("    return", '    print("mid")\n    return')

TWO = """\
import torch


# graphbreak: first(torch.randn(3))
@torch.compile
def first(x):
    return x + 1


# graphbreak: second(torch.randn(4))
@torch.compile
def second(x):
    x = x + 1
    print("mid")
    return x + 2
"""

ENDLESS = CLEAN.replace("\n\nscale(", "\n\n__import__('time').sleep(3600)\nscale(")

OpenEditor = Callable[..., AbstractContextManager[tuple[CodeServer, Workbench]]]


@pytest.fixture(scope="package")
def packaged() -> tuple[Path, str]:
    """The package and what was said while it was built."""
    built = subprocess.run(
        [ROOT / "vscode-extension" / "build.sh"], env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return ROOT / "build" / "graphbreak.vsix", built.stdout + built.stderr


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium. A machine that cannot have it skips these tests, and says so; continuous integration fails."""
    setup = subprocess.run(
        [Path(__file__).parent / "setup.sh"], env={**os.environ, "PYTHON": sys.executable}, text=True, stdout=subprocess.PIPE
    )
    executable = chromium()
    if setup.returncode != 0 or executable is None:
        missing = "NOT RUN: the tests in the real VS Code need Chromium and code-server, see tests/e2e/vscode/setup.sh"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=QUIET_BROWSER)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def open_editor(packaged: tuple[Path, str], browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> OpenEditor:
    """Opens an editor on a folder, `beside` with further extensions of ours, and leaves nothing of it behind."""

    @contextmanager
    def opened(
        folder: Path,
        settings: Mapping[str, object],
        *,
        trust: bool = False,
        beside: Sequence[str] = (),
        size: tuple[int, int] = (1280, 800),
    ) -> Iterator[tuple[CodeServer, Workbench]]:
        place = tmp_path_factory.mktemp("editor")
        others = [pack(OTHERS / name, place / f"{name}.vsix") for name in beside]
        editor = CodeServer(place, [packaged[0], *others], settings, trust=trust)
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.set_default_timeout(60_000)
        workbench = Workbench(page, PICTURES)
        try:
            workbench.open_window(editor.url(folder))
            yield editor, workbench
        except (AssertionError, Error):
            workbench.picture(f"failed-{os.environ.get('PYTEST_CURRENT_TEST', '').split('::')[-1].split(' ')[0]}")
            raise
        finally:
            page.close()
            editor.stop()
            eventually("an end of all processes", lambda: not editor.processes(), timeout=30)

    return opened


@pytest.fixture(scope="package")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a user has it: programs, and an environment with torch."""
    folder = tmp_path_factory.mktemp("project") / "examples"
    shutil.copytree(ROOT / "examples", folder)
    (folder / "not_split.py").write_text(CLEAN)
    (folder / "breaking.py").write_text(BREAKING)
    (folder / "two.py").write_text(TWO)
    (folder / "endless.py").write_text(ENDLESS)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


@pytest.fixture(scope="module")
def window(open_editor: OpenEditor, examples: Path) -> Iterator[tuple[CodeServer, Workbench]]:
    """An editor on the examples, without any setting of ours."""
    with open_editor(examples, {}) as opened:
        yield opened


@pytest.fixture
def editor(window: tuple[CodeServer, Workbench]) -> CodeServer:
    """The editor's processes."""
    return window[0]


@pytest.fixture
def workbench(window: tuple[CodeServer, Workbench], request: pytest.FixtureRequest) -> Iterator[Workbench]:
    """The editor's window, with nothing open in it."""
    if window[1].page.locator(".tab.active.dirty").count():
        window[1].command("File: Revert File")
    window[1].command("View: Close All Editors")
    failed = request.session.testsfailed
    yield window[1]
    if request.session.testsfailed > failed:
        window[1].picture(f"failed-{request.node.name}")

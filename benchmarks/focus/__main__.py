"""Edits one layer of a vendored model, through the real server: save -> provisional diagnostics, against save -> those of the whole trace.

    python -m benchmarks.focus [--samples N] [--only NAME,...]

Both are times of the same save, so a ratio never compares two states of the machine. What was shown first has to be what the whole trace
says in the end: same line, same code. RESULTS.md is written when all was run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.speed import machine
from benchmarks.speed.editor import Editor, Message

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "fixes"))

import models  # noqa: E402

GOAL = 8.0
_PROVISIONAL = "Provisional"


@dataclass(frozen=True)
class Case:
    """An edit: `text` is put, as a line of its own, before the first line that holds `before` behind `behind`."""

    name: str
    model: str
    options: tuple[str, str]
    behind: str
    before: str
    text: str


_LAYERS = ("encoder_layers=1, decoder_layers=1", "encoder_layers={0}, decoder_layers={0}")
CASES = (
    Case(
        "BART, 2 + 2 layers: `print` in the attention",
        "bart_classify",
        (_LAYERS[0], _LAYERS[1].format(2)),
        "class BartAttention",
        "query_states = self.q_proj",
        'print("attention {n}")',
    ),
    Case(
        "BART, 2 + 2 layers: `.item()` in the encoder layer",
        "bart_classify",
        (_LAYERS[0], _LAYERS[1].format(2)),
        "class BartEncoderLayer",
        "hidden_states = self.final_layer_norm",
        "scale = (hidden_states.sum() + {n}).item()",
    ),
    Case(
        "wav2vec 2, 2 layers: `print` in the feed forward",
        "wav2vec2",
        ("", ""),
        "class Wav2Vec2FeedForward",
        "hidden_states = self.output_dense",
        'print("feed forward {n}")',
    ),
)


@dataclass
class Measured:
    """Seconds from saves to what was shown first, and to the end of the whole trace."""

    case: Case
    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """How many times sooner, by the median of the ratios."""
        return statistics.median(whole / first for first, whole in zip(self.first, self.whole))

    @property
    def verdict(self) -> str:
        """Whether that is soon enough, and true each time."""
        return "ok" if self.ratio >= GOAL and not self.wrong else "MISSED"

    @property
    def line(self) -> str:
        """The row of the table."""
        first, whole = statistics.median(self.first), statistics.median(self.whole)
        spread = f"{min(self.first):.2f} to {max(self.first):.2f}"
        agreed = f"{len(self.first) - len(self.wrong)} of {len(self.first)} | {self.verdict}"
        return f"| {self.case.name} | {len(self.first)} | {first:.2f} s ({spread}) | {whole:.2f} s | 1/{self.ratio:.1f} | {agreed} |"


def measure(case: Case, samples: int, folder: Path) -> Measured:
    """Save the edits of one case, each of a new text, one after another."""
    model = next(model for model in models.MODELS if model.name == case.model)
    program = models.write(replace(model, options=model.options.replace(*case.options)), folder)
    path = next(program.root.glob("modeling_*.py"))
    text = path.read_text(encoding="utf-8")
    line = _line(text, case)
    measured = Measured(case)
    with Editor(program.root, folder / "store", {"tryFixes": False, "timeout": 600}) as editor:
        editor.open(program.entry)
        editor.traced(program.entry, editor.began, 600.0)
        editor.open(path)
        for number in range(samples):
            editor.rest()
            _sample(editor, measured, program.entry, path, line, number)
            print(f"{case.name}: {measured.first[-1]:.2f} s, {measured.whole[-1]:.2f} s", file=sys.stderr, flush=True)
    return measured


def _line(text: str, case: Case) -> int:
    lines = text.split("\n")
    begin = next(number for number, line in enumerate(lines) if line.startswith(case.behind))
    return next(number for number in range(begin, len(lines)) if case.before in lines[number])


def _sample(editor: Editor, measured: Measured, entry: Path, path: Path, line: int, number: int) -> None:
    """One edit: the line is put in the first time, and is another one each further time."""
    text = measured.case.text.format(n=number)
    lines = path.read_text(encoding="utf-8").split("\n")
    indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
    editor.change(path, line, 0, len(lines[line]) if number else 0, indent + text + ("" if number else "\n"))
    lines[line : line + bool(number)] = [indent + text]
    path.write_text("\n".join(lines), encoding="utf-8")
    time.sleep(0.3)
    begin = time.perf_counter()
    editor.tell("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
    _, arrived = editor.wait(lambda message: _shows(message, path, line, _PROVISIONAL), begin, 600.0)
    _, ended = editor.wait(lambda message: _is_end(message, entry), begin, 600.0)
    last = [message for at, message in editor.published(path) if begin <= at <= ended][-1]
    measured.first.append(arrived - begin)
    measured.whole.append(ended - begin)
    if not _shows(last, path, line, "Graph break"):
        measured.wrong.append(str(last["params"]["diagnostics"]))


def _shows(message: Message, path: Path, line: int, word: str) -> bool:
    """Whether a message publishes a diagnostic at a line whose text begins with a word."""
    if message.get("method") != "textDocument/publishDiagnostics" or message["params"]["uri"] != path.as_uri():
        return False
    found = message["params"]["diagnostics"]
    return any(one["range"]["start"]["line"] == line and one["message"].startswith(word) for one in found)


def _is_end(message: Message, entry: Path) -> bool:
    if message.get("method") != "graphbreak/status" or message["params"]["uri"] != entry.as_uri():
        return False
    return bool(message["params"]["state"] != "tracing")


def main() -> int:
    """Run the benchmark: 0 where the goal is met and nothing was foreseen that did not come."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.focus", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--only", default="", help="a word in the names of the cases to run")
    options = parser.parse_args()
    measured = []
    for case in (case for case in CASES if options.only in case.name):
        with tempfile.TemporaryDirectory() as folder:
            measured.append(measure(case, options.samples, Path(folder).resolve()))
    text = _page(measured)
    print(text)
    if not options.only:
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
    return int(any(one.verdict == "MISSED" for one in measured))


def _page(measured: list[Measured]) -> str:
    head = (
        "# Focus first\n\nWritten by `python -m benchmarks.focus`. One line is edited in a layer of a vendored model that `main.py` "
        "compiles; "
        f"both times are from the same save. The goal is 1/{GOAL:.0f}. Machine: {machine.words()}.\n\n"
        "| edit | saves | to what the function by itself shows | to the end of the whole trace | ratio, median | confirmed | |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return head + "\n".join(one.line for one in measured) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())

"""The command line: `graphbreak check`, `record`, `explain`, `rule` and `server`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 (clean), 1 (breaks found) or 2 (could not analyse, or bad usage)."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if getattr(options, "unsafe_fixes", False) and not (options.fix or options.diff):
        parser.error("--unsafe-fixes goes with --fix or --diff")
    try:
        status = _run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # `graphbreak check ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace) -> int:
    """The command's own module, imported only now: `--version` and the server need little of it."""
    if options.command == "server":
        from ..lsp.server import run_stdio

        return run_stdio()
    if options.command == "explain":
        from .explain import explain

        return explain(options)
    if options.command == "record":
        from .record import record

        return record(options)
    if options.command == "rule":
        from .rule import rule

        return rule(options)
    from .check import check

    return check(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="graphbreak", description="Show torch.compile graph breaks where they are written.")
    parser.add_argument("--version", action="version", version=f"graphbreak {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_check(commands.add_parser("check", help="run files and report the graph breaks of their compiled functions"))
    _add_explain(commands.add_parser("explain", help="print PyTorch's own explain report for one function"))
    _add_rule(commands.add_parser("rule", help="say what a graph break type means and what to do about it; without one, list the pages"))
    record = commands.add_parser("record", help="run a program as it is, and keep with what its compiled functions were called")
    record.add_argument("command_line", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="such as python train.py --epochs 1")
    commands.add_parser("server", help="speak the language server protocol on standard input and output")
    return parser


def _add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument("paths", nargs="+", metavar="PATH", help="Python files, or folders to search for files with marked functions")
    check.add_argument("--format", choices=("text", "json"), default="text")
    check.add_argument("--select", type=_codes, default=(), metavar="CODES", help="report only these codes, such as GB0059,GB0170")
    check.add_argument("--ignore", type=_codes, default=(), metavar="CODES", help="ignore these codes")
    check.add_argument("--jobs", type=_count, default=1, metavar="N", help="how many files to trace at once (default 1)")
    check.add_argument("--baseline", metavar="FILE", help="do not report what was there when this file was written")
    check.add_argument("--write-baseline", metavar="FILE", help="write what is found to this file, and report it as known")
    check.add_argument("--try-fixes", action="store_true", help="try each fix: apply it to a copy, trace again, compare the outputs")
    check.add_argument("--fix", action="store_true", help="apply the fixes that remove breaks and change nothing else, and write the files")
    check.add_argument("--diff", action="store_true", help="show what --fix would write, and write nothing")
    check.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix or --diff: also fixes that change what is printed or logged, or settings"
    )
    check.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    _add_run_options(check)


def _add_explain(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("target", metavar="FILE::NAME", help="a function of a file by its qualified name, such as train.py::Net.forward")
    explain.add_argument("--graphs", action="store_true", help="print each graph's code too")
    explain.add_argument("--guards", action="store_true", help="print the guards too")
    explain.add_argument("--bytecode", action="store_true", help="print the original and the modified bytecode too")
    explain.add_argument("--decompiled", action="store_true", help="print the modified bytecode as Python, where depyf is installed")
    _add_run_options(explain)


def _add_run_options(command: argparse.ArgumentParser) -> None:
    from .permissions import add_options

    add_options(command)
    command.add_argument("--python", metavar="INTERPRETER", help="the Python to trace with (it must have torch)")
    command.add_argument("--timeout", type=_seconds, default=60.0, metavar="S", help="seconds that one run may take (default 60)")
    command.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="auto: the code's own devices; cpu: as if there were no CUDA; cuda",
    )


def _add_rule(rule: argparse.ArgumentParser) -> None:
    rule.add_argument("rule", nargs="*", metavar="CODE", help="a code such as GB0170 (or gb170, 170), or PyTorch's name of the type")
    rule.add_argument("--python", metavar="INTERPRETER", help="the Python whose torch says what a type without a page of ours means")
    rule.add_argument("--color", choices=("auto", "always", "never"), default="auto")


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in text.split(",") if code.strip())


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError("must be more than 0 seconds")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value

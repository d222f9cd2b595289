"""What a comparison of two texts in eager mode finds, and what it takes for alike."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graphbreak.core.project import no_project
from graphbreak.core.requests import AnalysisRequest, Settings
from graphbreak.core.source import SourceFile
from graphbreak.tracer.engine import _Tracer
from graphbreak.worker import observing
from graphbreak.worker.protocol import Compared, ExampleCall, Job
from harness import INTERPRETER, Harness
from versions import at_home

PROGRAM = """\
import collections, dataclasses, logging, os, random, sys, time, warnings
import torch

seen = []


@dataclasses.dataclass
class Result:
    value: object
    more: dict


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))
        self.calls = 0

    @torch.compile
    def forward(self, x, out):
        {first}
        y = self.linear(x)
        {body}
        return {result}


net = Net()
for step in range({calls}):
    net(torch.randn(2, 4, requires_grad=True), torch.zeros(2))
{last}
"""


def program(body: str = "pass", result: str = "y", first: str = "pass", last: str = "", calls: int = 1) -> str:
    return PROGRAM.format(first=first, body=body, result=result, last=last, calls=calls)


def compared(harness: Harness, folder: Path, before: str, after: str, **more: object) -> Compared:
    path = str(folder / "program.py")

    def job(text: str) -> Job:
        return Job(path, text, str(folder), overlay={path: text})

    request = AnalysisRequest(SourceFile(path, before), str(folder), (str(folder),), Settings(interpreter=INTERPRETER, timeout=60))

    asked = replace(job(before), edited=replace(job(after), **more), **more)  # type: ignore[arg-type]
    return harness.submit(harness.engine.compare(request, asked)).result(300)


ALIKE = {
    "the same": (program(), program()),
    "computed otherwise": (program("y = y * 2 + 2"), program("y = (y + 1) * 2")),
    "not a number": (program("y = y * float('nan')"), program("y = float('nan') * y")),
    "nested results": (program(result="Result((y, [y.sum()]), {'a': 1.5})"), program("z = y", "Result((z, [z.sum()]), {'a': 1.5})")),
    "a new variable of the module": (program(), program(last="extra = 1")),
    "the same words in other lines": (program("print('a', 1)"), program("pass; print('a', 1)")),
    "a warning in another line": (program("warnings.warn('careful')"), "# one line more\n" + program("warnings.warn('careful')")),
    "an address": (program("print(object())"), program("print(object())  ")),
    "a time that is printed": (program("print('took', time.perf_counter())"), program("pass; print('took', time.perf_counter())")),
    "a time that is left": (program(last="now = time.time()"), program("pass ", last="now = time.time()")),
    "the same failure": (program(last="raise ValueError('no')"), program("pass ", last="raise ValueError('no')")),
    "a parameter that gets a gradient of zero": (program(result="x * 1"), program(result="torch.where(x > -9, x, y)")),
    "a whole number of NumPy": (program(result="y, __import__('numpy').int64(3)"), program(result="y, 3")),
    "a condition in the graph": (
        program("y = y + 1 if y.sum() > 0 else y - 1"),
        program("y = torch.cond(y.sum() > 0, lambda y: y + 1, lambda y: y - 1, (y,))"),
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_alike(harness: Harness, tmp_path: Path, name: str) -> None:
    answer = compared(harness, tmp_path, *ALIKE[name])
    assert (answer.values, answer.printed, answer.calls) == (True, True, 1), answer


OTHER = {
    "what it returns holds other values": (program(), program("y = y + 1e-3")),
    "what it returns is of type float and was a tensor of torch.float32": (program(result="y.sum()"), program(result="y.sum().item()")),
    "what it returns has the shape [4] and had [2, 4]": (program(), program(result="y[0]")),
    "what it returns has the dtype torch.float64 and had torch.float32": (program(), program(result="y.double()")),
    "what it returns does not require gradients and did before": (program(), program(result="y.detach()")),
    "what it returns[more]['a'] is 2 and was 1": (program(result="Result(y, {'a': 1})"), program(result="Result(y, {'a': 2})")),
    "its arguments[0][2] holds other values": (program("out.add_(1)"), program("out + 1")),
    "its object[count] holds other values": (program("self.count += 1"), program()),
    "its object[calls] is 0 and was 1": (program("self.calls += 1"), program()),
    "its gradients[0] holds other values": (program(result="x * x"), program(result="x * x.detach() * 1")),
    "`seen` has 0 parts and had 1": (program("seen.append(1)"), program()),
    "the random state it leaves is": (program(), program("torch.rand(1)")),
    "it raises ValueError: no": (program(), program("if y.sum() != 0: raise ValueError('no')")),
    "`late` is 2 and was 1": (program(last="late = 1"), program(last="late = 2")),
    "1 calls were made before and 2 now": (program(), program(calls=2)),
}


@pytest.mark.parametrize("reason", OTHER)
def test_other_values(harness: Harness, tmp_path: Path, reason: str) -> None:
    answer = compared(harness, tmp_path, *OTHER[reason])
    assert answer.values is False
    assert answer.reason.startswith(reason)


PRINTED = {
    "it prints something else (not 'a')": (program("print('a')"), program()),
    "it prints something else ('a')": (program(), program("print('a')")),
    "it prints something else (in another order)": (program("print('a'); print('b')"), program("print('b'); print('a')")),
    "it prints to standard error something else (not 'a')": (program("sys.stderr.write('a')"), program()),
    "it logs something else (not 'INFO net: a')": (
        program("logging.getLogger('net').info('a')", first="logging.getLogger('net').setLevel(20)"),
        program(first="logging.getLogger('net').setLevel(20)"),
    ),
    "it logs something else (not 'UserWarning: a')": (program("warnings.warn('a')"), program()),
}


@pytest.mark.parametrize("reason", PRINTED)
def test_other_words(harness: Harness, tmp_path: Path, reason: str) -> None:
    assert compared(harness, tmp_path, *PRINTED[reason]) == Compared(True, False, 1, reason)


def test_what_differs_from_itself_says_nothing(harness: Harness, tmp_path: Path) -> None:
    answer = compared(harness, tmp_path, program("y = y * float(os.urandom(1)[0])"), program("y = float(os.urandom(1)[0]) * y"))
    assert (answer.values, answer.reason) == (None, "the program gives other values in each run")


def test_both_begin_with_the_same_random_numbers(harness: Harness, tmp_path: Path) -> None:
    text = program("y = y + random.random() + torch.rand(4)", calls=3)
    assert compared(harness, tmp_path, text, text + "# changed\n") == Compared(True, True, 3)


def test_a_program_that_calls_nothing_marked_says_nothing(harness: Harness, tmp_path: Path) -> None:
    assert compared(harness, tmp_path, program(calls=0), program(calls=0)) == Compared(
        None, True, 0, "no call was made that could be compared"
    )


def test_a_program_that_goes_on_and_on_is_compared_as_far_as_it_was_watched(harness: Harness, tmp_path: Path) -> None:
    before = program(calls=10**9)
    assert compared(harness, tmp_path, before, before + "# changed\n") == Compared(True, True, 64)
    assert compared(harness, tmp_path, before, program("y = y + 1", calls=10**9)).values is False


def test_a_program_that_waits_for_ever_is_compared_as_far_as_it_came(harness: Harness, tmp_path: Path) -> None:
    waiting = program(calls=2, last="time.sleep(1000)")
    assert compared(harness, tmp_path, waiting, waiting + "# changed\n") == Compared(True, True, 2)


def test_a_process_that_ends_itself(harness: Harness, tmp_path: Path) -> None:
    gone = program("os._exit(3)")
    assert compared(harness, tmp_path, gone, program()) == Compared(None, None, 0, "the program by itself ended with status 3")
    answer = compared(harness, tmp_path, program(), gone)
    assert (answer.values, answer.reason) == (False, "the edited program ended with status 3")


def test_example_calls_are_compared(harness: Harness, tmp_path: Path) -> None:
    text = "import torch\n\n\ndef f(x):\n    return x + 1\n"
    calls = [ExampleCall("f(torch.ones(2))", 4, 0, "f"), ExampleCall("f(torch.ones(3))", 4, 0, "f")]
    assert compared(harness, tmp_path, text, text.replace("x + 1", "1 + x"), calls=calls) == Compared(True, True, 2)
    answer = compared(harness, tmp_path, text, text.replace("x + 1", "x + 2"), calls=calls)
    assert answer.reason == "what it returns holds other values (by up to 1) in call 1 of `f`"


def test_a_compiled_one_is_compared_too(harness: Harness, tmp_path: Path) -> None:
    text = program("y = y + 1 if torch.compiler.is_compiling() else y")
    assert compared(harness, tmp_path, program(), text).values is True
    answer = compared(harness, tmp_path, program(), text, backend="aot_eager")
    assert answer.values is False
    assert answer.reason.startswith("compiled with aot_eager, what it returns holds other values (by up to 1)")


HELPER = """\
import logging, torch
logging.getLogger("net").setLevel(20)
def note(*args):
    print(*args)
def info(*args):
    logging.getLogger("net").info(*args)
{registered}
class Part(torch.nn.Module):
    def forward(self, x):
        {words}
        return x * 2
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
    def forward(self, x):
        {own}
        return self.part(x) + 1
torch.compile(Net())(torch.ones(2))
"""


def in_helper(words: str, own: str = "pass", *registered: str) -> str:
    settings = "\n".join(f"torch._dynamo.config.reorderable_logging_functions.add({name})" for name in registered)
    return HELPER.format(words=words, own=own, registered=settings)


LOST = {
    "compiled, it prints something else (not 'a')": ("note('a')", "pass", "note"),
    "compiled, it logs something else (not 'INFO net: shape 2')": ("info('shape %s', x.shape[0])", "pass", "info"),
    "compiled, it prints something else (not 'tensor([1., 1.])')": ("pass", "note(x); x.add_(1)", "note"),
    "compiled, it prints something else (not as often)": ("note('a')", "note('a')", "note"),
}


@pytest.mark.parametrize("reason", LOST)
def test_words_that_compiled_code_loses(harness: Harness, tmp_path: Path, reason: str) -> None:
    words, own, registered = LOST[reason]
    before, after = in_helper(words, own), in_helper(words, own, registered)
    assert compared(harness, tmp_path, before, after).printed is True
    answer = compared(harness, tmp_path, before, after, backend="eager")
    if answer.printed is True and not at_home():
        pytest.skip("this torch writes what helpers put off")
    assert answer == Compared(True, False, 1, reason)


KEPT = {
    "of the function itself": (in_helper("pass", "note(x.sum())"), in_helper("pass", "note(x.sum())", "note")),
    "that the original loses too": (in_helper("note('a')", "pass", "note"), in_helper("note('a')  ", "pass", "note")),
    "in eager mode only, of both": (
        in_helper("torch.compiler.is_compiling() or note('a')"),
        in_helper("torch.compiler.is_compiling() or note('a') "),
    ),
    "of what is left as it is": (in_helper("note('a')", "info('%s', x)"), in_helper("note('a')", "info('%s', x)", "info")),
}


@pytest.mark.parametrize("name", KEPT)
def test_words_that_compiled_code_keeps(harness: Harness, tmp_path: Path, name: str) -> None:
    assert compared(harness, tmp_path, *KEPT[name], backend="eager") == Compared(True, True, 1)


def test_breaks_that_are_left_are_no_failure(harness: Harness, tmp_path: Path) -> None:
    before = in_helper("note('a'); note('b')").replace("compile(Net())", "compile(Net(), fullgraph=True)")
    assert compared(harness, tmp_path, before, before.replace("'b')", "'b') "), backend="eager") == Compared(True, True, 1)


def test_values_that_only_compiled_code_changes(harness: Harness, tmp_path: Path) -> None:
    changed = in_helper("x = x + 1 if torch.compiler.is_compiling() else x")
    answer = compared(harness, tmp_path, in_helper("pass"), changed, backend="eager")
    assert answer.reason.startswith("compiled, what it returns holds other values (by up to 2)")
    assert compared(harness, tmp_path, changed, changed + "# changed\n", backend="eager") == Compared(True, True, 1)


def test_what_only_compiled_code_leaves_otherwise_is_for_safe_fixes(harness: Harness, tmp_path: Path) -> None:
    counting = program("self.calls += 1")
    eager_only = counting.replace("self.calls += 1", "self.calls += 0 if torch.compiler.is_compiling() else 1")
    answer = compared(harness, tmp_path, counting, eager_only, backend="eager")
    assert answer == Compared(True, False, 1, "compiled, its object[calls] is 0 and was 1 in call 1 of `Net.forward`")


def test_a_gradient_that_is_asked_for_in_eager_mode_only(harness: Harness, tmp_path: Path) -> None:
    before = program("z = y.detach(); z.requires_grad = True", "y + z.sin()")
    after = before.replace("; z.requires", "\n        if not torch.compiler.is_compiling(): z.requires")
    assert compared(harness, tmp_path, before, after, backend="aot_eager").values is True
    lost = before.replace("; z.requires", "\n        y = y.detach() if torch.compiler.is_compiling() else y\n        z.requires")
    assert compared(harness, tmp_path, before, lost, backend="aot_eager").values is False


def test_nothing_is_left(harness: Harness, tmp_path: Path) -> None:
    left = program(last="import subprocess; subprocess.Popen(['sleep', '300'])")
    assert compared(harness, tmp_path, left, left + "# changed\n").values is True
    assert os.listdir(tmp_path) == []


UNSEEN = {
    "what it returns of type RuntimeError": "y, Odd(a=1)",
    "what it returns[1] of type generator": "y, (z for z in y)",
    "what it returns[1] of type list_iterator": "y, iter([y])",
    "what it returns[1]['a'][0][0][0][0][0][0] of type list": "y, {'a': [[[[[[[y]]]]]]]}",
    "the end of what it returns[1]": "y, list(range(30_000))",
}


@pytest.mark.parametrize("reason", UNSEEN)
def test_what_cannot_be_looked_into_is_not_said_to_be_alike(harness: Harness, tmp_path: Path, reason: str) -> None:
    odd = "class Odd(dict):\n    def items(self):\n        raise RuntimeError('not for you')\n\n"
    answer = compared(harness, tmp_path, odd + program(result=UNSEEN[reason]), odd + program("z = y", UNSEEN[reason]))
    assert answer == Compared(None, True, 1, f"{reason} in call 1 of `Net.forward` cannot be looked into")


HELD = {
    "a deque": "collections.deque([{}])",
    "values of a dictionary": "{{'a': {}}}.values()",
    "items of a dictionary": "{{'a': {}}}.items()",
    "a set": "{{{}}}",
    "slots": "Slotted({})",
    "an object that can be called": "Called({})",
    "a partial function": "functools.partial(max, {})",
    "a method of an object": "Called({}).__call__",
    "a closure": "(lambda value: lambda: value)({})",
    "a module": "Holder({})",
    "an exception": "ValueError({})",
    "the end of a long text": "'a' * 20000 + str({}.tolist())",
    "a tensor of a class of its own": "{}.as_subclass(Own)",
}
CLASSES = """\
import functools, torch
class Base:
    __slots__ = ("value",)
class Slotted(Base):
    __slots__ = ("__hidden",)
    def __init__(self, value):
        self.value = self.__hidden = value
class Called:
    def __init__(self, value):
        self.value = value
    def __call__(self):
        return self.value
class Holder(torch.nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = value
class Own(torch.Tensor):
    pass
"""


@pytest.mark.parametrize("name", HELD)
def test_values_inside_of_others(harness: Harness, tmp_path: Path, name: str) -> None:
    text = CLASSES + program(result="[" + HELD[name] + "]")
    before, same, other = (text.replace("{}", f"({value})").replace("({y})", "{(y)}") for value in ("y", "y * 1", "y + 1"))
    before, same, other = (one.replace("{{", "{").replace("}}", "}") for one in (before, same, other))
    assert compared(harness, tmp_path, before, same) == Compared(True, True, 1)
    answer = compared(harness, tmp_path, before, other)
    assert answer.values is False
    assert answer.reason.startswith("what it returns[0]")


def test_an_object_that_the_module_holds(harness: Harness, tmp_path: Path) -> None:
    settings = "import types\nclass Settings:\n    steps = 0\nsettings = Settings()\n"
    held = program("self.settings.steps += 1").replace("self.calls = 0", "self.settings = settings")
    lost = held.replace("steps += 1", "steps += 2")
    answer = compared(harness, tmp_path, settings + held, settings + lost)
    assert answer.reason.startswith("its object[settings][steps] is 2 and was 1")
    apart = held.replace("self.settings = settings", "pass").replace("self.settings.steps", "settings.steps")
    answer = compared(harness, tmp_path, settings + apart, settings + apart.replace("steps += 1", "steps += 2"))
    assert answer.reason.startswith("`settings`[steps] is 2 and was 1")


def test_what_is_logged_before_a_program_is_ended_is_compared(harness: Harness, tmp_path: Path) -> None:
    before = program("warnings.warn(str(self.calls)); print(self.calls)", calls=10**9)
    assert compared(harness, tmp_path, before, before + "# changed\n") == Compared(True, True, 64)
    answer = compared(harness, tmp_path, before, before.replace("warnings.warn(str(self.calls))", "pass"))
    assert (answer.printed, answer.reason) == (False, "it logs something else (not 'UserWarning: 0')")


def test_what_is_written_after_the_last_call_of_a_program_that_waits_is_left_out(harness: Harness, tmp_path: Path) -> None:
    waiting = program(calls=2, last="print('waiting'); warnings.warn('waiting'); time.sleep(1000)")
    assert compared(harness, tmp_path, waiting, waiting + "# changed\n") == Compared(True, True, 2)


def test_a_run_with_more_to_note_than_there_is_room_for_ends_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "_MOST_BYTES", 15_000)
    ended: list[int] = []
    observer = observing.Observer(str(tmp_path), 64, lambda: ended.append(observer.calls))
    compiled = observer.compile(lambda function, **options: function, "")(lambda x: x * 2)
    for _ in range(3):
        compiled(torch.zeros(1000))
    assert ended[0] == 2
    assert "what it returns" in torch.load(tmp_path / "00001.pt", weights_only=True)


def test_which_names_a_torch_has(harness: Harness, tmp_path: Path) -> None:
    request = AnalysisRequest(SourceFile(str(tmp_path / "a.py"), ""), str(tmp_path), (str(tmp_path),), Settings(interpreter=INTERPRETER))
    names = {
        "torch.where",
        "torch._dynamo.config.capture_scalar_outputs",
        "torch.no_such_thing",
        "torch.compiler.no.such",
        "no_such_module",
    }
    missing = harness.submit(_Tracer(harness.engine, request, no_project).missing(frozenset(names), INTERPRETER)).result(300)
    assert missing == {"torch.no_such_thing", "torch.compiler.no.such", "no_such_module"}

"""Writes compiled functions at random: branches on data, numbers read from tensors, prints, masks, loops, checks, early returns, helpers,
what is kept from one call to the next, questions that count how often they are asked, tensors of several names that are written to.

A program is a few definitions whose names end in its number, so that many stand in one file. What fails, fails in both of its texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

_PLAIN = (
    "{a} * 2", "{a} - 1", "-{a}", "{a} + {b}", "{a} * {b}", "{a}.sin()", "torch.tanh({a})", "{a} / 4", "torch.relu({a})", "{a} * 0.5 + {b}",
    "torch.maximum({a}, {b})", "{a}.clamp(min=-1, max=2)", "torch.sigmoid({a})", "{a} ** 2", "{a}", "{a}.cos() * 2", "{a}.abs()",
    "{a}.flip(-1)",
)  # fmt: skip
_ODD = (
    "{a}.exp()", "{a}.abs().sqrt()", "{a} / ({b}.abs() + 1)", "{a} - {a}.mean()", "torch.zeros_like({a})", "{a} + {a}.sum(0)",
    "({a} > 0).float()", "{a}.softmax(-1)", "{a}.double()", "{a}.detach()", "{a} / {b}", "{a} > {b}", "{a}.long()", "{a}.log()",
)  # fmt: skip
_TESTS = (
    "{a}.sum() > {c}", "{a}.mean() < {c}", "({a} > {c}).any()", "{a}.max() >= {c}", "{a}.sum().item() > {c}", "bool(({a} < {c}).all())",
    "{c} < {a}.mean() < 1", "{a}.sum() > {b}.sum()", "torch.isnan({a}).any()", "float({a}.mean()) <= {c}", "{a}[0, 0] > {c}",
    "any({a}[0] > {c})",
    "torch.allclose({a}, {b})", "{a}.sum() > {c} and {b}.mean() < 2", "{a}.any() or {b}.sum() > {c}",
    "not {a}.sum() > {c}", "torch.equal({a}, {b})", "torch.isfinite({a}).all()", "{a}.isnan().any()", "{a}.abs().max() < 1e4",
)  # fmt: skip
_NUMBERS = (
    "{a}.mean().item()",
    "float({a}.sum())",
    "int({a}.abs().sum())",
    "{a}.max().item() * 0.5",
    "({a} > {c}).sum().item()",
    "{a}[0, 1].item()",
)
_MASKED = (
    "{a}[{a} > {c}] = 0",
    "{t} = {a}.masked_fill({a} > {c}, 0.0)",
    "{t} = {a} + {a}[{a} > {c}].sum()",
    "{a}[{a}.sum(1) > {c}] = 1",
    "{a}[{a} > {c}] = {b}[{a} > {c}] * 2",
    "{a}[{a} > {c}] += 1",
    "{t} = {a} / (torch.nonzero({a} > {c}).shape[0] + 1)",
    "{a}[torch.where({a} > {c})] = 0.5",
    "{a}[{b}.argmax() % 3] = 0",
    "{t} = {a} + {b}[{a}.argmax() % 3]",
    "{t} = {a} * torch.tensor({b}.shape).prod().item()",
    "{t} = {a} + random.random()",
    "{t} = {b} / ({a}[{a} > {c}].mean() + 9)",
    "{t} = {b} - {a}[{a} > {c}].mean() ** 2",
    "{t} = {b} / {a}[torch.isfinite({a})].mean()",
    "{t} = {b} + ({a}[torch.isfinite({a})] ** 2).sum()",
    "{t} = {b} * ({a}[{a} > {c}] - {b}[{a} > {c}]).pow(2).mean()",
    "{t} = {b} + (1 - {a}[{a}.isfinite()].abs()).mean().sqrt()",
)
_WRITES = (
    "{z} += 1", "{z}[0] = 2", "{z}.mul_(2)", "torch.relu_({z})", "torch.nn.functional.relu({z}, inplace=True)", "bump({z})",
    "torch.sin({z}, out={z})", "torch.nn.functional.relu({z}, True)", "{z}.view(-1)[1] = 0.5", "bump({z}.flip(-1))", "{z} = {z} + 1",
)  # fmt: skip
_OTHER_NAMES = (
    "{z} = {w}",
    "{z} = {w}.view(3, 4)",
    "{z}, _ = {w}, 1",
    "{z} = [{w}][0]",
    "{z} = same({w})",
    "{z} = {w}[:2]",
    "{z} = {w} * 2",
)
_CONSTANTS = ("-1", "0", "0.5", "1", "0.1", "2")
FRESH = ("x", "y")


@dataclass(frozen=True)
class Program:
    """`entry` is the text that names what is called: `f3`, or `net3.forward`; `text` its definitions. `state` names what it keeps from one
    call to the next. With `limits` it asks for values that are not finite, and its gradients are compared at these too."""

    number: int
    text: str
    entry: str
    state: str = ""
    limits: bool = False
    short: bool = False


class Writer:
    """Writes one program. The same seed gives the same program."""

    def __init__(self, seed: int, number: int) -> None:
        self.random, self.number = Random(seed), number
        self.names: list[str] = []
        self.state = self.question = ""
        self.count = 0

    def program(self) -> Program:
        """A function, one with a helper, one inside another, or a module with a method and a parameter."""
        shape = self.random.choice(("function", "function", "function", "helper", "module", "inner"))
        text, entry, state = getattr(self, "_" + shape + "_program")()
        plain = "\n".join(line for line in text.splitlines() if "assert " not in line)
        limits = shape != "helper" and re.search(r"isfinite|isnan", plain) is not None
        return Program(self.number, text, entry, state, limits, short=self.random.random() < 0.15)

    def _function_program(self) -> tuple[str, str, str]:
        self.names, self.state, self.question = [], f"kept{self.number}", f"question{self.number}({{a}})"
        body, state = self._body(2, "    ", declared="global"), self.state
        return f"{self._globals()}@torch.compile\ndef f{self.number}(x, y):\n{body}\n", f"f{self.number}", f"({state}, asked{self.number})"

    def _helper_program(self) -> tuple[str, str, str]:
        self.names, self.state, self.question = [], f"kept{self.number}", f"question{self.number}({{a}})"
        helper = f"def h{self.number}(x, y):\n{self._body(1, '    ', declared='global')}\n\n\n"
        self.names = []
        body = self._body(2, "    ", f"h{self.number}", declared="global")
        text = f"{self._globals()}{helper}@torch.compile\ndef f{self.number}(x, y):\n{body}\n"
        return text, f"f{self.number}", f"({self.state}, asked{self.number})"

    def _globals(self) -> str:
        number = self.number
        text = f"kept{number} = torch.zeros(3, 4)\nasked{number} = []\n\n\n"
        return text + f"def question{number}(value):\n    asked{number}.append(1)\n    return value.sum() > 0\n\n\n"

    def _inner_program(self) -> tuple[str, str, str]:
        self.names, self.state, self.question = [], "held", "question({a})"
        text = f"def make{self.number}():\n    held = torch.zeros(3, 4)\n    asked = []\n\n"
        text += "    def question(value):\n        asked.append(1)\n        return value.sum() > 0\n\n"
        text += f"    @torch.compile\n    def f(x, y):\n{self._body(2, '        ', declared='nonlocal')}\n\n"
        text += "    def look():\n        return held, asked\n\n    return f, look\n\n\n"
        return text + f"f{self.number}, look{self.number} = make{self.number}()\n", f"f{self.number}", f"look{self.number}()"

    def _module_program(self) -> tuple[str, str, str]:
        number = self.number
        self.names, self.state, self.question = ["self.weight"], "self.kept", "self.question({a})"
        body = self._body(2, "        ")
        text = f"class Net{number}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        text += "        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 4))\n        self.size = 3\n"
        text += "        self.kept = torch.zeros(3, 4)\n        self.asked = []\n        self.act = torch.nn.ReLU(inplace=True)\n\n"
        text += "    def question(self, value):\n        self.asked.append(1)\n        return value.sum() > 0\n\n"
        text += f"    @torch.compile\n    def forward(self, x, y):\n{body}\n\n\nnet{number} = Net{number}()\n"
        return text, f"net{number}.forward", f"(net{number}.kept, net{number}.asked)"

    def _body(self, length: int, indent: str, helper: str = "", declared: str = "") -> str:
        own, self.names = self.names, [*self.names, "x", "y"]
        lines = [line for _ in range(self.random.randint(1, length)) for line in self._statement(2)]
        if helper:
            lines.insert(0, f"y = {helper}(x, y)[0]")
            self.names.append("y")
        lines += self._ending()
        if declared and any(re.match(rf"\s*{self.state} = ", line) for line in lines):
            lines.insert(0, f"{declared} {self.state}")
        self.names = own
        return "\n".join(indent + line if line else "" for line in lines)

    def _fill(self, template: str) -> str:
        target = self.random.choice(["x", "y", *[name for name in self.names if "." not in name]])
        return template.format(a=self._name(), b=self._name(), c=self.random.choice(_CONSTANTS), t=target)

    def _name(self) -> str:
        return self.random.choice(self.names)

    def _plain(self) -> str:
        return self._fill(self.random.choice(_PLAIN))

    def _value(self) -> str:
        return self._fill(self.random.choice(_PLAIN if self.random.random() < 0.8 else _ODD))

    def _test(self) -> str:
        return self._fill(self.random.choice(_TESTS))

    def _statement(self, depth: int) -> list[str]:
        kinds = [
            "assign",
            "new",
            "if",
            "if",
            "if",
            "expression",
            "number",
            "print",
            "mask",
            "raise",
            "assert",
            "augment",
            "return",
            "settings",
        ]
        kind = self.random.choice(
            [*kinds, "loop", "block", "early", "early", "question", "state", "state", "asked", "asked", "alias", "alias"]
            if depth > 1
            else kinds[:12]
        )
        lines: list[str] = getattr(self, "_" + kind)(depth)
        return lines

    def _target(self) -> str:
        return self.random.choice([name for name in self.names if "." not in name])

    def _assign(self, depth: int) -> list[str]:
        return [f"{self._target()} = {self._value()}"]

    def _new(self, depth: int) -> list[str]:
        value = self._value()
        self.count += 1
        self.names.append(f"v{self.count}")
        return [f"v{self.count} = {value}"]

    def _if(self, depth: int) -> list[str]:
        if self.random.random() < 0.5:
            return self._choice_of_one()
        lines = [f"if {self._test()}:" + self.random.choice(("", "", "  # why"))]
        lines += self._side(depth)
        if self.random.random() < 0.25:
            lines += [f"elif {self._test()}:", *self._side(depth)]
        if self.random.random() < 0.5:
            lines += ["else:", *self._side(depth)]
        return lines

    def _choice_of_one(self) -> list[str]:
        """An `if` whose sides compute one name from one other."""
        name, target, kept = self._name(), self._target(), self.names
        self.names = [name]
        lines = [f"if {self._test()}:", f"    {target} = {self._plain()}"]
        if self.random.random() < 0.3:
            lines += [f"elif {self._test()}:", f"    {target} = {self._plain()}"]
        lines += ["else:", f"    {target} = {self._value()}"] if target != name or self.random.random() < 0.5 else []
        self.names = kept
        return lines

    def _side(self, depth: int) -> list[str]:
        own = list(self.names)
        kinds = ["assign", "assign", "assign", "assign", "augment", "print"]
        lines: list[str] = []
        for _ in range(self.random.choice((1, 1, 1, 2))):
            lines += (
                getattr(self, "_" + self.random.choice(kinds))(depth) if depth < 2 or self.random.random() < 0.85 else self._if(depth - 1)
            )
        self.names = own
        return ["    " + line for line in lines]

    def _expression(self, depth: int) -> list[str]:
        if self.random.random() < 0.2:
            return [f"{self._target()} = {self._name()} * (2.0 if {self._test()} else 1.0)"]
        return [f"{self._target()} = {self._value()} if {self._test()} else {self._value()}"]

    def _number(self, depth: int) -> list[str]:
        own, self.names = self.names, [self._name()] if self.random.random() < 0.6 else self.names
        lines = self._number_of_one()
        self.names = own
        return lines

    def _number_of_one(self) -> list[str]:
        self.count += 1
        number = f"s{self.count}"
        use = self.random.choice(
            ("{t} = {a} * {s}", "{t} = {a} / ({s} + 9)", "{t} = {a} - {s}", "{t} = {a} + {s} * 2", "{t} = {a} if {s} > 1 else {b}")
        )
        return [f"{number} = {self._fill(self.random.choice(_NUMBERS))}", self._fill(use.replace("{s}", number))]

    def _early(self, depth: int) -> list[str]:
        """A loop that ends early."""
        name, kept = self._target(), self.names
        self.names = [name]
        lines = ["for i in range(3):", f"    if {self._test()}:", "        break", f"    {name} = {self._plain()}"]
        if self.random.random() < 0.5:
            lines = ["step = 0", f"while step < 3 and ({self._test()}):", f"    {name} = {self._plain()}", "    step += 1"]
        self.names = kept
        return lines

    def _question(self, depth: int) -> list[str]:
        """A masked assignment that is made or not."""
        name = self._target()
        return [f"{name} = {name} * 1", f"if {self._test()}:", f"    {name}[{name} > {self.random.choice(_CONSTANTS)}] = 0.5"]

    def _state(self, depth: int) -> list[str]:
        """Something is kept for the next call, or not, and what was kept before is used."""
        name, kept = self._target(), self.names
        lines = [f"{name} = {name} + {self.state}.detach()"] if self.random.random() < 0.5 else []
        self.names = [name]
        lines += [f"if {self._test()}:", f"    {self.state} = {self._plain()}"]
        if self.random.random() < 0.3:
            lines += ["else:", f"    {self.state} = {self._plain()}"]
        if self.random.random() < 0.2:
            lines = ["for i in range(3):", f"    if {self._test()}:", "        break", f"    {self.state} = {self._plain()}"]
        self.names = kept
        return lines

    def _asked(self, depth: int) -> list[str]:
        """A question that leaves something behind, asked only after another one."""
        name, kept = self._target(), self.names
        self.names = [name]
        question, test, values = self._fill(self.question), self._test(), [self._plain() for _ in range(3)]
        lines = self.random.choice(
            (
                [f"if {test}:", f"    {name} = {values[0]}", f"elif {question}:", f"    {name} = {values[1]}"],
                [f"if {test} and {question}:", f"    {name} = {values[0]}"],
                [f"if {test} or not {question}:", f"    {name} = {values[0]}"],
                [f"{name} = {values[0]} if {test} else {values[1]} if {question} else {values[2]}"],
                [f"if {test}:", f"    return {values[0]}", f"if {question}:", f"    return {values[1]}"],
                ["for i in range(3):", f"    if {test} and {question}:", "        break", f"    {name} = {values[0]}"],
            )
        )
        self.names = kept
        return lines

    def _alias(self, depth: int) -> list[str]:
        """A tensor that may have several names is written to behind, or before, a branch that keeps it."""
        name, kept = self._target(), self.names
        self.count += 1
        own, other = f"w{self.count}", f"z{self.count}"
        self.names = [name]
        choice = self.random.choice(
            (
                [f"{own} = {name}", f"if {self._test()}:", f"    {own} = {self._plain()}"],
                [f"{own} = {self._plain()}", f"if {self._test()}:", f"    {own} = {name}"],
                [f"{own} = {name} if {self._test()} else {self._plain()}"],
                [f"{own} = {name} * 2", f"if {self._test()}:", f"    {own} += 1"],
            )
        )
        again = self.random.choice(_OTHER_NAMES).format(z=other, w=self.random.choice((own, own, name)))
        write = self.random.choice(_WRITES).format(z=self.random.choice((other, own, name)))
        if self.state == "self.kept" and self.random.random() < 0.3:
            write = f"{other} = self.act({other})"
        order = self.random.choice(([*choice, again, write], [*choice[:1], again, *choice[1:], write], [*choice, again]))
        if choice[0].startswith(f"{own} = {name} if"):
            order = [*choice, again, write]
        self.names = [*kept, own]
        return [*order, *([f"{name} = {name} + {other}.sum()"] if self.random.random() < 0.7 else [])]

    def _print(self, depth: int) -> list[str]:
        return [
            self.random.choice(
                (
                    'print("mid")',
                    f"print({self._name()}.shape)",
                    f'print("sum", {self._name()}.sum())',
                    f'print(f"mean {{{self._name()}.mean().item():.2f}}", {self._name()}.sum().item())',
                )
            )
        ]

    def _mask(self, depth: int) -> list[str]:
        own = [name for name in self.names if "." not in name]
        name = self.random.choice(own)
        template = self.random.choice(_MASKED).replace("{a}", name)
        return ([f"{name} = {name} * 1"] if template.startswith(name + "[") else []) + [self._fill(template)]

    def _raise(self, depth: int) -> list[str]:
        return [f"if ({self._name()} > 1e9).any():", '    raise ValueError("too large")']

    def _assert(self, depth: int) -> list[str]:
        return [self.random.choice((f"assert {self._name()}.max().item() < 1e9", f"assert not torch.isinf({self._name()}).any()"))]

    def _augment(self, depth: int) -> list[str]:
        name = self._target()
        return (
            [f"{name} {self.random.choice(('+=', '-=', '*='))} {self.random.choice((self._name(), '2'))}"]
            if name not in FRESH
            else [f"{name} = {name} + 1"]
        )

    def _return(self, depth: int) -> list[str]:
        if self.random.random() < 0.5:
            return [f"if {self._test()}:", f"    return {self._value()}"]
        return [f"if {self._test()}:", f"    return {self._name()}, {self._value()}"]

    def _settings(self, depth: int) -> list[str]:
        return [f"if {self._name()}.dtype == torch.float32 and {self._test()}:", *self._side(depth)]

    def _loop(self, depth: int) -> list[str]:
        return ["for i in range(2):", *("    " + line for line in self._statement(1))]

    def _block(self, depth: int) -> list[str]:
        return ["with torch.no_grad():", *("    " + line for line in self._statement(1))]

    def _ending(self) -> list[str]:
        if self.random.random() < 0.2:
            return [f"if {self._test()}:", f"    return {self._value()}", f"return {self._value()}"]
        return [self.random.choice((f"return {self._value()}", f"return {self._name()}, {self._value()}"))]


def module_of(programs: list[Program]) -> str:
    """One file with all programs and a call of each: inputs are drawn by the seed of its number."""
    calls = "\n".join(f"call({program.entry}, {program.number})" for program in programs)
    short = f"SHORT = {sorted(program.number for program in programs if program.short)}"
    return f"import random\nimport torch\n\n\n{short}\n{INPUTS}\n\n" + "\n\n".join(program.text for program in programs) + f"\n\n{calls}\n"


INPUTS = '''\
def inputs(number, turn):
    """Two tensors; other turns lie elsewhere, so that branches go both ways, and some are infinite or not a number. Some programs are given
    numbers of 16 bits, which become too large when they are added."""
    source = torch.Generator().manual_seed(1000 * number + turn)
    shift = (0.0, 1.5, -1.5, 0.2)[turn % 4]
    x, y = (torch.randn(3, 4, generator=source) + shift for _ in range(2))
    if turn % 5 == 4:
        y = x.clone()
    if turn in (5, 6):
        x[turn - 5, 1], y[1, turn - 4] = float("inf"), float("nan")
    if turn == 8:
        x[0, 0], x[2, 3], y[2, 2] = float("nan"), float("-inf"), float("inf")
    if number in SHORT:
        return tuple((value * (9000 if turn == 2 else 1)).half() for value in (x, y))
    return x, y


def bump(value):
    """Writes to what it is given."""
    value.add_(1)


def same(value):
    """Gives back what it is given."""
    return value


def call(function, number):
    """Call a program with the inputs that it is traced with; one that fails does not keep the others from running."""
    try:
        function(*inputs(number, 0))
    except Exception:
        pass
'''

"""Writes compiled functions at random: branches on data, numbers read from tensors, prints, masks, loops, checks, early returns, helpers.

A program is a few definitions whose names end in its number, so that many stand in one file. What fails, fails in both of its texts.
"""

from __future__ import annotations

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
    "not {a}.sum() > {c}", "torch.equal({a}, {b})",
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
)
_CONSTANTS = ("-1", "0", "0.5", "1", "0.1", "2")
FRESH = ("x", "y")


@dataclass(frozen=True)
class Program:
    """`entry` is the text that names what is called: `f3`, or `net3.forward`; `text` its definitions."""

    number: int
    text: str
    entry: str


class Writer:
    """Writes one program. The same seed gives the same program."""

    def __init__(self, seed: int, number: int) -> None:
        self.random, self.number = Random(seed), number
        self.names: list[str] = []
        self.count = 0

    def program(self) -> Program:
        """A function, one with a helper, or a module with a method and a parameter."""
        shape = self.random.choice(("function", "function", "function", "helper", "module"))
        helper = ""
        if shape == "helper":
            helper = f"def h{self.number}(x, y):\n{self._body(1, '    ')}\n\n\n"
        if shape == "module":
            self.names = ["self.weight"]
            body = self._body(2, "        ")
            text = f"class Net{self.number}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            text += "        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 4))\n        self.size = 3\n\n"
            text += f"    @torch.compile\n    def forward(self, x, y):\n{body}\n\n\nnet{self.number} = Net{self.number}()\n"
            return Program(self.number, text, f"net{self.number}.forward")
        self.names = []
        body = self._body(2, "    ", f"h{self.number}" if helper else "")
        return Program(self.number, f"{helper}@torch.compile\ndef f{self.number}(x, y):\n{body}\n", f"f{self.number}")

    def _body(self, length: int, indent: str, helper: str = "") -> str:
        own, self.names = self.names, [*self.names, "x", "y"]
        lines = [line for _ in range(self.random.randint(1, length)) for line in self._statement(2)]
        if helper:
            lines.insert(0, f"y = {helper}(x, y)[0]")
            self.names.append("y")
        lines += self._ending()
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
        kind = self.random.choice([*kinds, "loop", "block", "early", "early", "question"] if depth > 1 else kinds[:12])
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
    return f"import random\nimport torch\n\n\n{INPUTS}\n\n" + "\n\n".join(program.text for program in programs) + f"\n\n{calls}\n"


INPUTS = '''\
def inputs(number, turn):
    """Two tensors; other turns lie elsewhere, so that branches go both ways."""
    source = torch.Generator().manual_seed(1000 * number + turn)
    shift = (0.0, 1.5, -1.5, 0.2)[turn % 4]
    x, y = (torch.randn(3, 4, generator=source) + shift for _ in range(2))
    if turn % 5 == 4:
        y = x.clone()
    return x, y


def call(function, number):
    """Call a program with the inputs that it is traced with; one that fails does not keep the others from running."""
    try:
        function(*inputs(number, 0))
    except Exception:
        pass
'''

"""The search for a call that works: proposals are tried, the one that came furthest first, and each failure says what to change."""

from __future__ import annotations

import copy
import heapq
import itertools
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .. import user_module
from ..marks import Marks
from ..protocol import Guess, Inferred
from . import errors, harm, operations
from .building import Builder
from .changes import Changes
from .reading import tree_of
from .targets import Target, Unreachable, arguments_of_wrap, target_of
from .undoing import as_it_was
from .values import Made, Proposal, Text
from .watching import Failure, Progress, TookTooLong, attempt, time_limit

MOST_TRIES = 40
MOST_SECONDS = 3.0
"""Of computing, which is what counts on a machine that has other things to do."""
_MOST_WAITING = 10.0
_MOST_PARAMETERS = 30_000_000
"""How large a model may be that is made for a guess."""
_MANY_PARAMETERS = 3_000_000
_MOST_SECONDS_OF_A_TRY = 0.2
"""Where a model is larger, or a try took longer, fake tensors come first: for less they take three times as long as real ones."""
_MOST_CHANGES = 12
_ADVANCE = 3
"""How many places in a list of changes it is worth that a change brought the call further."""
_DESPERATE = 6
"""How many places it costs to give an argument another kind of value for no better reason than that a statement speaks of it."""


@dataclass(frozen=True)
class _Step:
    """A proposal that waits for its turn: how unlikely its changes are, all together, how often they helped, and where the last failed."""

    proposal: Proposal
    cost: int = 0
    advances: int = 0
    before: Progress | None = None

    @property
    def score(self) -> int:
        """What decides whose turn it is; the smallest is tried first."""
        return self.cost - _ADVANCE * self.advances


def infer(index: int, guess: Guess, module: types.ModuleType, marks: Marks) -> Inferred:
    """Look for a call of a mark of a module that works in eager mode. Never raises for what user code does."""
    try:
        target = target_of(guess, module, marks)
    except Unreachable as error:
        return Inferred(index, "", 0, str(error), reachable=False)
    refusal = harm.refusal(target.functions, guess.mark.file)
    if refusal:
        return Inferred(index, "", 0, refusal)
    search = _Search(target, module, Builder(module.__dict__, tree_of(guess.mark.file)))
    try:
        with time_limit(MOST_SECONDS, _MOST_WAITING):
            proposal = search.run()
    except TookTooLong:
        proposal = None
        search.timed_out = True
    if proposal is None:
        return Inferred(index, "", search.tries, search.reason())
    return Inferred(index, _written(proposal, target, guess), search.tries, compile_path=target.compile_path)


def _written(proposal: Proposal, target: Target, guess: Guess) -> str:
    """The call as it is made, and kept: one that has to compile what it calls says so."""
    call = proposal.call
    if not target.wrapped or call.of is None:
        return proposal.render()
    inner: Any = Made(of=call.of, behind=call.behind)
    subject = inner.callee(proposal.sizes)
    options = "".join(f", {argument.name}={argument.value.render(proposal.sizes)}" for argument in arguments_of_wrap(guess))
    return Made(f"torch.compile({subject}{options})", call.arguments).render(proposal.sizes)


class _Search:
    """One search. `tries` counts the calls that were made."""

    def __init__(self, target: Target, module: types.ModuleType, builder: Builder) -> None:
        self.tries = 0
        self.timed_out = False
        self._target, self._module, self._builder = target, module, builder
        self._best: Failure | None = None
        self._seen: set[str] = set()
        self._order = itertools.count()
        self._queue: list[tuple[int, int, _Step]] = []
        self._end = time.process_time() + MOST_SECONDS
        self._sizes: dict[str, int] = {}
        self._dear = False

    def run(self) -> Proposal | None:
        """The first proposal that works; None where none did in time."""
        for rank, call in enumerate(self._target.calls):
            for proposal in (self._with_the_modules_own(Proposal(call)), Proposal(call)):
                self._push(_Step(self._small(proposal), rank))
        while self._queue and self.tries < MOST_TRIES and time.process_time() < self._end:
            step = heapq.heappop(self._queue)[2]
            self.tries += 1
            failure = self._tried(step.proposal)
            if failure is None:
                return step.proposal
            if self._best is None or failure.progress >= self._best.progress:
                self._best = failure
            advances = step.advances + (step.before is not None and failure.progress.is_beyond(step.before))
            for rank, (changed, extra) in enumerate(itertools.islice(self._changed(step.proposal, failure), _MOST_CHANGES)):
                self._push(_Step(changed, step.cost + rank + extra, advances, failure.progress))
        return None

    def _tried(self, proposal: Proposal) -> Failure | None:
        """One try: where those are dear, on fake tensors first. That it works is said of real ones only."""
        if self._dear:
            with as_it_was(self._module):
                failure = attempt(proposal, self._evaluate, self._apart, fake=True)
            if failure is not None and failure.is_of_shapes:
                return failure
        begun = time.process_time()
        failure = attempt(proposal, self._evaluate, self._apart)
        self._dear |= time.process_time() - begun > _MOST_SECONDS_OF_A_TRY
        return failure

    def reason(self) -> str:
        """Why nothing was found: what the try that came furthest raised, as the end of a sentence."""
        tried = f"{self.tries} guess{'' if self.tries == 1 else 'es'}"
        if self._best is None:
            return "a call with guessed inputs did not end in time" if self.timed_out else "there is nothing to call it with"
        where = "making the object failed" if self._best.constructing else "none of them worked"
        late = f", within {MOST_SECONDS:g} s" if self.timed_out else ""
        return f"inputs for it were looked for in {tried}{late}, but {where}: {self._best.text}"

    def _with_the_modules_own(self, proposal: Proposal) -> Proposal:
        """What the module has under the very names of the parameters, in their place."""
        for argument in proposal.call.given():
            if isinstance(self._module.__dict__.get(argument.name), (torch.Tensor, torch.nn.Module)):
                proposal = proposal.put((argument.name,), Text(argument.name))
        return proposal

    def _small(self, proposal: Proposal) -> Proposal:
        """The proposal with smaller numbers where what it makes would be very large by its defaults."""
        if self._parameters(proposal) > _MOST_PARAMETERS:
            for path, value in list(proposal.walk()):
                if isinstance(value, Made):
                    proposal = proposal.put(path, value.with_left_out())
        self._dear |= self._parameters(proposal) > _MANY_PARAMETERS
        return proposal

    def _parameters(self, proposal: Proposal) -> int:
        """How many parameters the module that is made for a call has, told from one without memory behind it."""
        if proposal.call.of is None:
            return 0
        expression = proposal.call.of.render(proposal.sizes)
        if expression not in self._sizes:
            try:
                with torch.device("meta"):
                    made = self._evaluate(expression)
                count = sum(value.numel() for value in made.parameters()) if isinstance(made, torch.nn.Module) else 0
            except Exception:  # it cannot be made that way, which says nothing about its size
                count = 0
            self._sizes[expression] = count
        return self._sizes[expression]

    def _push(self, step: _Step) -> None:
        text = step.proposal.render()
        if text not in self._seen:
            self._seen.add(text)
            heapq.heappush(self._queue, (step.score, next(self._order), step))

    def _changed(self, proposal: Proposal, failure: Failure) -> Iterator[tuple[Proposal, int]]:
        """Changed proposals, each with what it costs beside its place in the list."""
        changes = Changes(proposal, failure, self._builder)
        try:
            if failure.operation is not None:
                yield from ((changed, 0) for changed in operations.repairs(changes, failure.operation))
            yield from ((changed, 0) for changed in errors.repairs(changes))
            yield from ((changed, _DESPERATE) for changed in errors.other_values(changes))
        except Exception:  # a failure that is not understood only ends the changes that could be read from it
            return

    def _evaluate(self, expression: str) -> Any:
        return user_module.value_of(expression, self._module.__dict__)

    def _apart(self, callee: Any) -> Any:
        """A copy of a module's own object, so that trying changes nothing in it."""
        owner = getattr(callee, "__self__", callee)
        plain = getattr(owner, "_orig_mod", owner)
        if not isinstance(plain, torch.nn.Module):
            return callee
        try:
            apart = copy.deepcopy(plain)
        except Exception:
            return callee
        return apart if owner is callee else getattr(apart, callee.__name__, callee)

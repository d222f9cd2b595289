"""A run that ended by itself, and all that its result depends on: whether it is worth keeping, and as bytes to be kept."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache

from ..worker.protocol import HEADER, Denied, Ended, Hello, Job, Message, Missing, Needed, ProtocolError, pack, unpack
from .doubts import asks_for_variables, is_open_ended, looks_at_text, words_of
from .relocating import relocated, same_question
from .sameness import Moved, Places, same_program
from .source import SourceFile

FORMAT = 1
_MAGIC = f"graphbreak run {FORMAT}\n".encode()
_LARGEST = 64 * 1024 * 1024
_MOST_NEEDED = 50_000
_NOTHING = Needed({}, {}, {}, {}, [], [], [])
_IMPORTABLE = (".py", ".pyc", ".so", ".pyd")


class Unreadable(Exception):
    """These bytes are not a kept run, or not a whole one."""


@dataclass(frozen=True)
class Kept:
    """What a job's worker said. `job` is without its overlay; `texts` are those of all programs that ran, by path; `facts` what else was as
    it was (see `tracer.facts`); `question` names all that is known before it is run, but for the texts. `made` is a time, in seconds."""

    question: str
    job: Job
    hello: Hello
    layers: tuple[str, ...]
    messages: tuple[Message, ...]
    ended: Ended
    output: str
    needed: Needed = _NOTHING
    texts: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    made: float = 0.0


def question(job: Job, others: Sequence[object]) -> str:
    """A name for what is asked, whatever the texts say: jobs that may have one answer have one name. `others` is what else counts."""
    outline = asdict(job)
    for other in ("text", "overlay", "keep"):
        del outline[other]
    for call in (*outline["calls"], *outline["guesses"]):
        for place in ("line", "column", "mark"):
            call.pop(place, None)
    outline["marks"] = len(job.marks)
    return digest(json.dumps([FORMAT, outline, others], sort_keys=True, default=str))


def digest(text: str | bytes) -> str:
    """A short name for a text."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def needed_of(messages: Sequence[Message], job: Job) -> Needed | None:
    """What a run depends on beside its texts; None where that is not known, or where another run of the same might show something else."""
    said = [message for message in messages if isinstance(message, Needed)]
    if job.names:
        return _NOTHING if any(isinstance(message, Missing) for message in messages) else None
    if job.edited is not None or job.explain or job.details or job.tests or len(said) != 1 or said[0].unseen:
        return None
    return said[0] if _is_sound(said[0]) and not any(isinstance(message, Denied) for message in messages) else None


def _is_sound(needed: Needed) -> bool:
    """Whether it is as the worker tells it: the worker is not trusted."""
    paths = [*needed.programs, *needed.files, *needed.folders, *needed.searched]
    idle = all(len(one) == 3 and type(one[1]) is int and isinstance(one[0], str) and isinstance(one[2], str) for one in needed.idle)
    return idle and len(paths) + len(needed.idle) <= _MOST_NEEDED and all(path.startswith("/") or path[1:2] == ":" for path in paths)


def can_be_known(texts: Mapping[str, str]) -> bool:
    """Whether programs with these texts depend on nothing but what is seen of them."""
    return not any(is_open_ended(words_of(text)) for text in texts.values())


def wants_variables(texts: Mapping[str, str]) -> bool:
    """Whether any of them looks at its environment's variables."""
    return any(asks_for_variables(words_of(text)) for text in texts.values())


def importable(names: Sequence[str]) -> list[str]:
    """Those names in a folder that an import may find."""
    return [name for name in names if name != "__pycache__" and ("." not in name or name.endswith(_IMPORTABLE))]


def answers(kept: Kept, job: Job, texts: Mapping[str, str]) -> Kept | None:
    """The run as the answer to a job, where the texts of its programs are now these: itself, or moved to where things are now.

    None where a new run might say something else.
    """
    job = replace(job, overlay={}, keep=0.0)
    if texts == kept.texts and job == kept.job:
        return kept
    if job.names or any(_looks_at_text(text) for known in (kept.texts, texts) for text in known.values()):
        return None
    places: dict[str, Places] = {}
    for path, old in kept.texts.items():
        idle = {(int(line), str(name)) for file, line, name in kept.needed.idle if file == path}
        found = same_program(old, texts[path], idle)
        if found is None or (found.changed and path in (*kept.needed.quoted, *kept.needed.files)):
            return None
        places[path] = found
    try:
        return _moved(kept, job, texts, places)
    except Moved:
        return None


@lru_cache(maxsize=24)
def _looks_at_text(text: str) -> bool:
    return looks_at_text(words_of(text))


def _moved(kept: Kept, job: Job, texts: Mapping[str, str], places: Mapping[str, Places]) -> Kept | None:
    before, after = ({path: SourceFile(path, text) for path, text in known.items()} for known in (kept.texts, texts))

    def same_line(path: str, old: int, new: int) -> bool:
        return before[path].line(old - 1).strip() == after[path].line(new - 1).strip()

    if not same_question(kept.job, job, places):
        return None
    (*messages, ended), output = relocated([*kept.messages, kept.ended], kept.output, places, same_line)
    assert isinstance(ended, Ended)
    needed = replace(kept.needed, idle=_moved_idle(kept.needed.idle, places))
    return replace(kept, job=job, messages=tuple(messages), ended=ended, output=output, needed=needed, texts=dict(texts))


def _moved_idle(idle: list[list[str | int]], places: Mapping[str, Places]) -> list[list[str | int]]:
    """The functions that never ran, where they are now, as far as they are there."""
    found: list[list[str | int]] = []
    for file, line, name in idle:
        try:
            found.append([file, places[str(file)].line(int(line)), name])
        except (Moved, KeyError):
            continue
    return found


def packed(kept: Kept) -> bytes:
    """The run as bytes."""
    plain = {"question": kept.question, "layers": kept.layers, "output": kept.output, "texts": kept.texts, "facts": kept.facts}
    head = json.dumps({**plain, "made": kept.made}, ensure_ascii=True).encode("ascii")
    frames = (kept.job, kept.hello, kept.needed, kept.ended, *kept.messages)
    body = zlib.compress(b"".join([HEADER.pack(len(head)), head, *map(pack, frames)]), 1)
    return _MAGIC + digest(body).encode("ascii") + b"\n" + body


def unpacked(data: bytes) -> Kept:
    """The run that bytes are. Raises Unreadable for anything else."""
    magic, check, body = data[: len(_MAGIC)], data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 33 :]
    if magic != _MAGIC or check != digest(body).encode("ascii"):
        raise Unreadable("it is damaged, or of another version")
    try:
        unzipped = zlib.decompressobj()
        whole = unzipped.decompress(body, _LARGEST)
        if unzipped.unconsumed_tail:
            raise Unreadable("it is too large")
        head, *frames = _frames(whole)
        plain = json.loads(head)
        job, hello, needed, ended, *messages = map(unpack, frames)
        if not (isinstance(job, Job) and isinstance(hello, Hello) and isinstance(needed, Needed) and isinstance(ended, Ended)):
            raise Unreadable("it has not the parts of one")
        return Kept(
            str(plain["question"]), job, hello, tuple(map(str, plain["layers"])), tuple(messages), ended, str(plain["output"]), needed,
            _texts(plain["texts"]), _texts(plain["facts"]), float(plain["made"]),
        )  # fmt: skip
    except (zlib.error, struct.error, ValueError, KeyError, TypeError, AttributeError, ProtocolError) as error:
        raise Unreadable(f"it is not understood ({error!r:.80})") from error


def _frames(whole: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(whole):
        (length,) = HEADER.unpack(whole[at : at + HEADER.size])
        found.append(whole[at + HEADER.size : at + HEADER.size + length])
        at += HEADER.size + length
    return found


def _texts(values: object) -> dict[str, str]:
    if not isinstance(values, dict):
        raise TypeError("not a table of texts")
    return {str(key): str(value) for key, value in values.items()}

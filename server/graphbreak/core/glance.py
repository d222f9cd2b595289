"""Whether anything is marked in a file, mostly without parsing it: a workspace has thousands of files."""

from __future__ import annotations

import re

from .comments import WORD
from .marks import find_marks
from .source import SourceFile

_OTHER_THAN_RE = re.compile(r"(?<!\bre\.)compile")
_DECORATOR = re.compile(r"^[ \t]*@torch\.compile\b[^\n]*\n(?:[ \t]*(?:@[^\n]*)?\n)*[ \t]*(?:async )?(?:def|class)\b", re.MULTILINE)
_MENTION = "@torch.compile"
_IMPORT = re.compile(r"^import torch[ \t]*$", re.MULTILINE)
_OTHER_TORCH = re.compile(r"\btorch[ \t]*(?:=(?!=)|:)|\b(?:as|def|class|for|del|global|nonlocal)[ \t]+torch\b|[(,*][ \t]*torch[ \t]*[,)]")
_STRING_OR_COMMENT = re.compile(
    r'#[^\n]*|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)


def has_marks(source: SourceFile) -> bool:
    """Whether `find_marks` finds any. A plain `import torch` with a plain `@torch.compile` in code needs no parser to be told."""
    if WORD not in source.text:
        if _OTHER_THAN_RE.search(source.text) is None:
            return False
        if _MENTION in source.text:
            code = _STRING_OR_COMMENT.sub("", source.text)
            if _DECORATOR.search(code) and _IMPORT.search(code) and not _OTHER_TORCH.search(code):
                return True
    return bool(find_marks(source).marks)

"""The names that are ours and not the protocol's; the VS Code extension mirrors them."""

from __future__ import annotations

RESTART = "graphbreak.restart"
"""Command: throw the prepared workers away and analyse the open documents again."""

TRACE = "graphbreak.trace"
"""Command: `[uri, function?]`: analyse the document of the URI now, whatever the `run` setting says, or of its marked functions one
only: named, or nearest to a line (from 0). The answer is the name of that function, or nothing."""

CANCEL = "graphbreak.cancel"
"""Command: end the analyses of the given URI, or without one all of them."""

TRACE_WORKSPACE = "graphbreak.traceWorkspace"
"""Command: analyse every file of the workspace folders in which something is marked, open or not."""

REPORT = "graphbreak/report"
"""Request: `{"uri"?}` -> what is known, see `wire`."""

EXPLAIN = "graphbreak/explain"
"""Request: `{"uri", "name", "details"}` -> PyTorch's own report on a marked function: `{"report", "artifacts", "problem"}`."""

RULE = "graphbreak/rule"
"""Request: `{"code"}` -> `{"markdown"}`: what a type of graph break means."""

STATUS = "graphbreak/status"
"""Notification to the client: `{"uri", "state": "tracing" | "idle" | "failed", "message"}`.

Sent only to a client whose `capabilities.experimental` has `"graphbreakStatus": true`, since some editors warn of every
notification that they do not know.
"""

ENVIRONMENT = "graphbreak/environment"
"""Notification to the same clients after each analysis: `{"uri", "python", "torch", "device", "sandbox", "notes"}`."""

NO_ENVIRONMENT = "graphbreak/noEnvironment"
"""Notification to the same clients, in place of a message: `{"message"}`, why there is no torch to trace with; each sentence once."""

TRYING = "graphbreak/trying"
"""Notification to the same clients: `{"trying": bool}`: fixes are being tried in the background, or not any more."""

ACTIVE = "graphbreak/active"
"""Notification from the client: `{"uri"}` of the document that the user went to; it is traced before the others."""

CHANGED = "graphbreak/changed"
"""Notification to the same clients: `{"uri"}` of an entry document of which something else is known now."""

STATUS_CAPABILITY = "graphbreakStatus"
COMMANDS_CAPABILITY = "graphbreakCommands"
"""In `capabilities.experimental`: the client has the commands that follow, which it runs itself."""

TRACE_FILE = "graphbreak.traceFile"
"""Client's command: `[uri]`."""

SHOW_GRAPHS = "graphbreak.showGraphs"
"""Client's command: `[uri, name]` of a marked function."""

EDIT_INPUTS = "graphbreak.editInputs"
"""Client's command: `[uri, line, indentation, text, existing]`: put the directive `text` above a line, or go to the existing one's line."""

CONFIGURATION_SECTION = "graphbreak"

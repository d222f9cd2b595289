"""The names that are ours and not the protocol's; the VS Code extension mirrors them."""

from __future__ import annotations

RESTART = "graphbreak.restart"
"""Command: throw the prepared workers away and analyse the open documents again."""

TRACE = "graphbreak.trace"
"""Command: analyse the document of the given URI now, whatever the `run` setting says."""

STATUS = "graphbreak/status"
"""Notification to the client: `{"uri", "state": "tracing" | "idle" | "failed", "message"}`.

Sent only to a client whose `capabilities.experimental` has `"graphbreakStatus": true`, since some editors warn of every
notification that they do not know.
"""

STATUS_CAPABILITY = "graphbreakStatus"
CONFIGURATION_SECTION = "graphbreak"

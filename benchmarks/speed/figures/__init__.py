"""The figures, one module each: `SECONDS` is how long it may take, `measure` gives its rows from a number of pairs and an empty folder."""

NAMES = (
    "save_small",
    "save_model",
    "focus",
    "unchanged",
    "first",
    "requests",
    "cancel",
    "keystrokes",
    "scan",
    "idle",
    "many",
    "growth",
    "profile",
)
"""In the order in which they are measured."""

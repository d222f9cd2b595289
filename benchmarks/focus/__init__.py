"""How soon after a save the breaks of an edited layer are shown, against the trace of the whole model."""

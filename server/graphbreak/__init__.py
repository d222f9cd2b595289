"""Graphbreak shows `torch.compile` graph breaks where they are written.

A document goes through these steps, in this order:

1. `core.marks` finds the functions that are marked for compile, without running anything;
2. `core.inputs` says which runs show them, and with which example inputs;
3. `tracer` runs them in a worker process under the user's own Python (`worker` is the other side of the pipe);
4. `core.causes` merges PyTorch's records into causes, each with the frame to blame and its callers;
5. `core.breaks` and `core.explain` turn causes into diagnostics with words;
6. `fixes` offers edits for them;
7. `lsp` and `cli` show the result.

`core.analysis` is the whole flow on one screen.
"""

__version__ = "0.1.0"

"""`python -m graphbreak` is the command line."""

import sys

if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
    del sys.path[0]  # the working directory: a json.py in somebody's project is not the one that is meant

from .cli import main

sys.exit(main())

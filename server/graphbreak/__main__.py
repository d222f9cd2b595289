"""`python -m graphbreak` is the command line.

Python itself imports a few modules for `-m` before this one runs, and looks for them in the working directory: only `-P` keeps it from
that.
"""

import sys

if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
    del sys.path[0]  # the working directory: a json.py in somebody's project is not the one that is meant

from .cli import main

sys.exit(main())

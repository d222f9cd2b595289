"""Runs the bundled server. It is started isolated (`python -I`), so that nothing of the workspace is on the path; `libs` comes first,
and not by way of PYTHONPATH, which would reach the processes that trace the user's code.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "libs"))

from graphbreak.cli import main  # noqa: E402

sys.exit(main(["server"]))

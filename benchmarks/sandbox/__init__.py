"""What the sandbox costs: warm traces, and the start of a prepared process, with and without it by turns."""

"""The command `toolroute`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Runs the command line with the arguments of the process, and ends the process."""
    # Python's own handler runs only between two of its instructions, and the command is one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ._toolroute import run_command

    code = run_command([_program(), *sys.argv[1:]])
    sys.stdout.flush()
    sys.exit(code)


def _program() -> str:
    """The file that other programs start to run this command."""
    typed = sys.argv[0]
    if os.path.basename(typed) == "__main__.py":
        typed = os.path.join(os.path.dirname(sys.executable), "toolroute")
    return os.path.abspath(typed)

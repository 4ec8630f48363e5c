"""`python -m toolroute`: the command line."""

from ._command import main

main()

"""`python -m photometer`: the same as the command."""

from photometer.cli import main

main()

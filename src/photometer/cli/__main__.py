"""`python -m photometer.cli`: the command without its script."""

from photometer.cli import main

main()

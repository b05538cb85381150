"""`python -m kibi` is the command line."""

from kibi.cli.entry import run

run()

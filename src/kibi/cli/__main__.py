"""`python -m kibi.cli` is `kibi`."""

from kibi.cli.entry import run

run()

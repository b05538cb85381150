"""`python -m kibi.cli` is `kibi`."""

from kibi.cli.main import run

run()

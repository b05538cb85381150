"""`python -m kibi` is the command line."""

import sys

from kibi.cli.main import main

sys.exit(main(sys.argv[1:]))

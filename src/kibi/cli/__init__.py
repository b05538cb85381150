"""The command line: arguments and printing only; all else is in `kibi.api` and the packages that it uses."""

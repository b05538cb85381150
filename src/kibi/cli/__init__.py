"""The command line: arguments and printing only. Each verb is one file, thin over `kibi.api`."""

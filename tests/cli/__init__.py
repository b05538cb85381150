"""The command line: what a person and a program see."""

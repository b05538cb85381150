"""The fuzzer: broken and hostile input for every door of Kibi, from seeds, so that each case can be made again.

`python -m tests.fuzz --help` runs it from the project's root; `make fuzz` runs a default amount. Each case ends in success or in a
`KibiError`, within ten seconds of processor time and two gigabytes of memory; everything else is a finding.
"""

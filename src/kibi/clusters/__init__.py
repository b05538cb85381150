"""Clusters: tasks of sweeps, evaluations and the fuzzer, run by the workers of a Dask cluster, each once.

The extra `kibi[sweep]` installs Dask, which is imported when it is used.
"""

"""Sweeps: many models, each in many settings, measured by the workers of a cluster into one Parquet file.

The cluster is Dask's, the file is pyarrow's; the extra `kibi[sweep]` installs both, and they are imported when they are used.
"""

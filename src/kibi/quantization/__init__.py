"""Quantizes float32 models: ranges from data, integers that the kernels take, and the least error of the model that will run."""

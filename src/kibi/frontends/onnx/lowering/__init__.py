"""One function for each operator of ONNX that has a counterpart, in families; `registry` lists them."""

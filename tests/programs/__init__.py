"""Programs for Linux and WebAssembly modules."""

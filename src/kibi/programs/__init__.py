"""Programs that call a model's functions where no core is emulated: on Linux, by itself or under QEMU, and in WebAssembly."""

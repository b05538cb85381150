"""Kibi fits neural networks into kibibytes.

    import kibi

    model = kibi.load("model.tflite")                      # graph, verified
    plan = kibi.plan(model, target="cortex-m4")            # memory, to the byte
    out = kibi.run(model, plan, inputs)                    # bit-exact, inside the planned arena
    lib = kibi.compile(model, plan, "build/")              # C99 files
    info = kibi.measure(lib)                               # emulated: instructions, stack, flash, RAM
"""

__version__ = "0.1.0"

"""What the tests share: a writer of `.tflite` files, the zoo of real models, and what to do where a tool is missing."""

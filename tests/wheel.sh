#!/bin/sh
# Build the wheel, install it into an environment of its own, and run the tests on it, far from the source tree.
# Usage: tests/wheel.sh PYTHON [PYTEST ARGUMENT ...], with a Python that has `build`.
set -eu
python=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m build --quiet --wheel --outdir "$work/dist" "$root" >/dev/null
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --upgrade pip
# What these tests need, without Kibi itself, which comes from the wheel alone.
(cd "$root" && "$work/venv/bin/python" -m pip install --quiet --group wheel)
"$work/venv/bin/python" -m pip install --quiet "$work"/dist/*.whl
mkdir "$work/away"
cp -r "$root/tests" "$root/pyproject.toml" "$work/away/"
cd "$work/away"
# Whether the package is whole: the story in Python, the command line, the native helpers, the shipped model, compilers and
# emulators from the installed packages. TFLM is not among what it needs. What else the tests look at is the same wherever the code is installed.
"$work/venv/bin/python" -m pytest -p no:cacheprovider "$@" tests/test_installed.py tests/demo tests/cli/test_main.py

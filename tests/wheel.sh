#!/bin/sh
# Build the wheel, install it into an environment of its own, and run the smoke tests far from the source tree.
# Usage: tests/wheel.sh PYTHON, with a Python that has `build`.
set -eu
python=$1
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m build --quiet --wheel --outdir "$work/dist" "$root" >/dev/null
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet "$work"/dist/*.whl pytest
mkdir "$work/away"
cp "$root/tests/test_installed.py" "$work/away/"
cd "$work/away"
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider test_installed.py

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
# What the tests need, without Kibi itself, which comes from the wheel alone.
(cd "$root" && "$work/venv/bin/python" -m pip install --quiet --group dev)
"$work/venv/bin/python" -m pip install --quiet "$work"/dist/*.whl
mkdir "$work/away"
cp -r "$root/tests" "$root/examples" "$root/pyproject.toml" "$work/away/"
KIBI_ZOO=${KIBI_ZOO:-$root/../shared/zoo}
export KIBI_ZOO
cd "$work/away"
# The documents' own tests read the whole repository. What reads no files of the package but code, and takes long, is the same
# wherever it is installed. Both run in the source tree alone.
"$work/venv/bin/python" -m pytest -p no:cacheprovider --ignore tests/docs --ignore tests/benchmarks --ignore tests/ops \
  --ignore tests/planner --ignore tests/frontends --ignore tests/kernels --ignore tests/runtime --ignore tests/engines \
  --ignore tests/passes --ignore tests/quant --ignore tests/examples --ignore tests/codegen "$@"

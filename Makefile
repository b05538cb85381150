# Everything a person needs: `make help` says what. All of it runs in .venv, which `make setup` makes.

PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
SCRIPTS := Scripts
else
SCRIPTS := bin
endif
BIN := $(VENV)/$(SCRIPTS)
FRAMEWORKS := $(VENV)-frameworks/$(SCRIPTS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# What installs packages; bytecode is left out, since Python compiles what is imported, a small part of what is installed.
INSTALL ?= $(BIN)/python -m pip install --quiet --no-compile
# Tests start hundreds of Python processes: without bytecode, each compiles the modules anew.
unexport PYTHONDONTWRITEBYTECODE
# CI's machine has two cores; tests run on as many as there are.
JOBS ?= auto

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo check check-all lint types test frameworks bench docs site headers wheel release fuzz mutations clean

help: ## What can be made
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Kibi needs Python 3.11 or newer; $$($(PYTHON) --version) was found. Give one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "Installing Kibi into $(VENV) ..."
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.installed
	@echo "Installing what the tests need into $(VENV) ..."
	@$(INSTALL) --group dev
	@touch $@

$(VENV)/.installed-release: pyproject.toml $(VENV)/.installed
	@$(INSTALL) --group release
	@touch $@

$(VENV)/.installed-docs: pyproject.toml $(VENV)/.installed-dev
	@$(INSTALL) --group docs
	@touch $@

setup: $(VENV)/.installed ## Make the virtual environment and install Kibi

setup-dev: $(VENV)/.installed-dev ## ... and what the tests need

demo: setup ## Run the main job on the model that Kibi ships
	@$(BIN)/kibi demo

check: setup-dev lint ## All that CI runs
	$(BIN)/python tests/check.py -n $(JOBS)

check-all: export KIBI_TESTS := exhaustive
check-all: setup-dev lint types site $(VENV)/.installed-release ## ... and the slow, exhaustive tests
	$(BIN)/python -m pytest -n $(JOBS) -m "slow or not slow"
	$(MAKE) wheel
	$(MAKE) frameworks

lint: setup-dev ## Linter and formatter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup-dev ## Strict types over code, tests, examples, benchmarks
	$(BIN)/mypy

test: setup-dev ## The tests
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

frameworks: ## Install PyTorch and TensorFlow apart (7 GB), and run the tests and pages that need them
	@test -d $(VENV)-frameworks || $(PYTHON) -m venv $(VENV)-frameworks
	@$(FRAMEWORKS)/python -m pip install --quiet --upgrade pip
	@$(FRAMEWORKS)/python -m pip install --quiet --editable . --group dev --group frameworks
	$(FRAMEWORKS)/python -m pytest -n 1 tests/frontends/test_exporters.py tests/docs/test_frameworks.py

bench: setup-dev ## Kibi's figures beside TensorFlow Lite Micro's; ARGS=--json for programs
	$(BIN)/python benchmarks/bench.py $(ARGS)

fuzz: setup-dev ## Broken and hostile input for every door; ARGS='load --count 1000000 --seed 7'
	$(BIN)/python -m tests.fuzz $(ARGS)

mutations: setup-dev ## Seed bugs one by one, and see that tests catch each; ARGS="--only 'planner.*'" or --all-tests
	$(BIN)/python -m tests.mutations $(ARGS)

docs: setup-dev ## Write generated tables, pictures and figures anew
	$(BIN)/python docs/generate.py

site: $(VENV)/.installed-docs ## The documents as a site, with search and the Python API: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "Look at it: $(BIN)/python -m http.server --directory site"

headers: setup-dev ## Write the parameter structs of the kernels' headers anew, from kibi/kernels/params
	$(BIN)/python -c "from kibi.kernels.headers import write_headers; write_headers()"

wheel: setup-dev ## Build the wheel, install it apart, and test it outside the source tree
	$(BIN)/python tests/wheel.py -q -n $(JOBS) -m "not slow and not oracle"

release: $(VENV)/.installed-release ## Build and check the files of a release: dist/
	rm -rf dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python -m build --quiet --outdir dist
	$(BIN)/python -m twine check --strict dist/*

clean: ## Remove what was built
	rm -rf $(VENV) $(VENV)-frameworks build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis

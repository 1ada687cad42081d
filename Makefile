# Two commands set up everything: `make demo` and `make test`.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
# The tests are timed on two cores; single-threaded BLAS keeps small solves from fighting over them.
export OPENBLAS_NUM_THREADS := 1
# Hundreds of processes are started by the tests; without bytecode each compiles what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test thorough full coverage mutants quality format lock docs docs-fast dist claims benchmarks record extras oldest newest clean

demo: $(VENV)/.core ## create the environment, run the shipped study, say where the report lies
	@$(BIN)/qmodels demo -o qmodels-demo

# A file stays with one worker: what its tests share is computed, and compiled, once.
test: $(VENV)/.test ## create the environment with the test extra, run the suite but for its thorough cases
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --quick --durations=15

thorough: $(VENV)/.test ## the cases that `make test` leaves out; the gate runs them
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m thorough --durations=15

full: $(VENV)/.test ## everything, the long campaigns as well
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --full

coverage: $(VENV)/.test ## the suite with the share of lines it runs; fails below the floor in pyproject.toml
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --cov --cov-report=term

mutants: $(VENV)/.test ## change 400 places of the core one by one; a test should notice (hours)
	$(BIN)/python -m pip install -q -e '.[mutants]'
	$(BIN)/python -m tests.mutants --least 0.92

quality: $(VENV)/.test ## what the gate asks for beyond the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

extras: $(VENV)/.core ## what reads Darshan logs
	$(BIN)/python -m pip install -q -e '.[darshan]'

# Before a release: the suite on the lowest and on the highest versions that pyproject.toml allows.
oldest: ## the suite on the lowest versions of all dependencies
	$(call suite_on,lowest-direct,.venv-oldest)

newest: ## the suite on their highest versions
	$(call suite_on,highest,.venv-newest)

define suite_on
	$(PYTHON) -m venv --clear $(2)
	$(2)/bin/python -m pip install -q uv
	$(2)/bin/uv pip install -q --python $(2)/bin/python --resolution $(1) -e '.[test]'
	$(2)/bin/python -m pytest -q -n 2 --dist loadfile
endef

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

claims: $(VENV)/.test ## docs/claims.md and docs/campaigns.md anew, of docs/claims and docs/record
	$(BIN)/python docs/write_claims.py

benchmarks: $(VENV)/.test ## measure the long jobs, write docs/reference/speed.md; fails where one is 20 % slower
	$(BIN)/python -m tests.campaigns.benchmarks --write
	$(BIN)/python docs/write_speed.py

record: $(VENV)/.test ## run the campaigns that are not on record, one after the other (hours; goes on where it ended)
	$(BIN)/python -m tests.campaigns

docs: $(VENV)/.docs ## the site, with what the gallery's programs print and draw today (some six minutes)
	@rm -rf docs/reference/objects docs/gallery docs/notebooks # pages of objects that are gone fail the build
	$(BIN)/sphinx-build -W -b html docs docs/_build/html

docs-fast: $(VENV)/.docs ## the site without running the gallery (about a minute)
	@rm -rf docs/reference/objects
	$(BIN)/sphinx-build -W -j auto -D plot_gallery=0 -b html docs docs/_build/html

$(VENV)/.docs: $(VENV)/.test
	$(BIN)/python -m pip install -q -e '.[docs]'
	@touch $@

dist: $(VENV)/.test ## build wheel and sdist, check them, run the demo from each in an environment of its own
	@rm -rf dist
	$(BIN)/python -m pip install -q build twine
	$(BIN)/python -m build -q --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tests.distribution dist

lock: $(VENV)/.test ## refresh the lock files after a change of dependencies
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-annotate pyproject.toml requirements-build.in -o requirements.lock
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-annotate --extra test --extra quality pyproject.toml requirements-build.in \
		-o requirements-test.lock

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "qmodels needs Python 3.11 or newer; set PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "creating the environment in $(VENV) ..." >&2
	@$(PYTHON) -m venv $(VENV) || { echo "python's venv module is missing (on Debian: apt install python3-venv)" >&2; exit 1; }

# The lock files carry hashes, so an index cannot hand out something else than was tested. They are whole, so that
# nothing is resolved: pip looked `coverage[toml]` up beside the pinned `coverage`, and failed on its next release.
# For a demo only what it imports is compiled, when it is imported.
$(VENV)/.core: requirements.lock pyproject.toml | $(VENV)/bin/python
	@test -e $(VENV)/.test || $(BIN)/python -m pip install -q --no-compile --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: requirements-test.lock pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes --no-deps -r requirements-test.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

clean:
	rm -rf $(VENV) .venv-oldest .venv-newest .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
	@find phasefit qmodels validation -name "*.nb[ic]" -delete # compiled loops

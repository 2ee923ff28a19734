# Everything runs in .venv, pinned by constraints.txt; only Python 3.11 or later, pip and make are needed.
#   make demo     evaluate on a bundled corpus, before and after reranking; installs only what users need
#   make walkthrough   the tutorial on War and Peace: raglift corpus fetch war_and_peace gets the book
# The targets below also install what developers need.
#   make install  install all of it
#   make test     the fast and the slow tests: .ci/run does this beside make lint and make types
#   make quick    lint, types and the fast tests
#   make fast     the fast tests alone; those of one folder: .venv/bin/pytest -m 'not slow and not full' tests/report
#   make full     lint, types and all tests, also those that take minutes or repeat much: before a release
#   make latest   the fast tests on the current versions of all packages
#   make coverage   the branch coverage of the tests of make test; fails below fail_under in pyproject.toml
#   make notebooks   run the notebooks again, in place
#   make docs     the documentation as a site: site/index.html
#   make dist     the wheel and the source archive in dist/, checked
#   make picture  take the pictures of the documentation again, of the report as it is now
#   make bench    ratios to other tools, and what the harness costs: benchmarks/README.md

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What developers need includes what users need
USER_STAMP := $(if $(wildcard $(STAMP)),$(STAMP),$(VENV)/.installed-for-users)
LATEST := .venv-latest

# Texts that are not committed: see `raglift corpus show war_and_peace`.
ifndef RAGLIFT_CORPORA
ifneq ($(wildcard ../shared/corpora),)
export RAGLIFT_CORPORA := $(abspath ../shared/corpora)
endif
endif
export RAGLIFT_PROGRESS ?= 1
# Hundreds of processes import the same packages: they are compiled once, and not in each
unexport PYTHONDONTWRITEBYTECODE
PYTEST_WORKERS ?= 2
PYTEST = $(BIN)/pytest -n $(PYTEST_WORKERS) --dist worksteal
# Marks of tests: CONTRIBUTING.md
FAST := -m 'not slow and not full'
FAST_AND_SLOW := -m 'not full'
# What is installed and never imported is not compiled, which takes a minute; the rest is when it is first imported
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: demo walkthrough quick fast test lint types full full-tests latest coverage docs dist picture notebooks bench install clean

install: $(STAMP)

define MAKE_VENV
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "raglift needs Python 3.11 or later; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
endef

# PyTorch first and pinned, so that a build for the processor alone that is there already stays
$(STAMP): pyproject.toml constraints.txt
	$(MAKE_VENV)
	@echo 'Installing into $(VENV): a few minutes, most of it PyTorch …'
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt torch==2.13.0
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt -e '.[dev]'
	touch $@

$(VENV)/.installed-for-users: pyproject.toml constraints.txt
	$(MAKE_VENV)
	@echo 'Installing into $(VENV): a minute or two …'
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt -e '.[models,report]'
	touch $@

demo: $(USER_STAMP)
	$(BIN)/raglift demo
	@echo 'To type raglift yourself, first: . $(BIN)/activate'

walkthrough: $(USER_STAMP)
	$(BIN)/raglift walkthrough

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

test: export RAGLIFT_TEST_PROFILE = ci
test: $(STAMP)
	$(PYTEST) $(FAST_AND_SLOW)

# The fast tests alone
fast: export RAGLIFT_TEST_PROFILE = quick
fast: $(STAMP)
	$(PYTEST) $(FAST)

# mypy and pytest side by side: no core waits for the other
quick: $(STAMP)
	$(MAKE) --jobs lint types fast

full-tests: export RAGLIFT_TEST_PROFILE = full
full-tests: $(STAMP)
	$(PYTEST) -o faulthandler_timeout=3600

full: $(STAMP)
	$(MAKE) --jobs lint types full-tests

# Child processes are not measured
coverage: export RAGLIFT_TEST_PROFILE = ci
coverage: $(STAMP)
	$(PYTEST) $(FAST_AND_SLOW) --cov --cov-report=term:skip-covered

# No pins but that of PyTorch, which is large and whose numbers differ from release to release
latest: export RAGLIFT_TEST_PROFILE = quick
latest:
	$(PYTHON) -m venv --clear $(LATEST)
	$(LATEST)/bin/python $(PIP_INSTALL) torch==2.13.0
	$(LATEST)/bin/python $(PIP_INSTALL) torch==2.13.0 -e '.[dev]'
	$(LATEST)/bin/python -m pip list --disable-pip-version-check
	$(LATEST)/bin/pytest -n $(PYTEST_WORKERS) --dist worksteal $(FAST)

notebooks: $(STAMP)
	$(BIN)/python notebooks/running.py

# The pages that list the command line and the public names are written anew first
docs: $(STAMP)
	$(BIN)/python tests/docs/references.py
	$(BIN)/python tests/docs/licences.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# twine is for releases alone, so it is no dependency
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt --target build/twine twine==7.0.0
	PYTHONPATH=build/twine $(BIN)/python -m twine check --strict dist/*

# The fonts are for the picture alone, so they are no dependency
picture: $(STAMP)
	$(BIN)/python $(PIP_INSTALL) --target build/fonts font-source-serif-pro==0.0.1 font-roboto==0.0.1
	$(BIN)/python docs/assets/make_picture.py --fonts build/fonts

# Each prints its ratios; more processes than one would take each other's time
bench: $(STAMP)
	$(BIN)/python benchmarks/scoring.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/sweep.py --defaults

clean:
	rm -rf $(VENV) $(LATEST) dist build site .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis

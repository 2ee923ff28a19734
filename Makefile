# Everything runs in .venv, pinned by constraints.txt; only Python 3.11 or later, pip and make are needed.
#   make demo     evaluate on a corpus that comes along, before and after reranking
#   make walkthrough   the tutorial on War and Peace: raglift corpus fetch war_and_peace gets the book
#   make test     lint, types, unit and end-to-end tests
#   make ci-full  what is slow
#   make ci       both at once, in the time of one
#   make notebooks   run the notebooks again, in place
#   make docs     the documentation as a site: site/index.html
#   make bench    ratios to other tools, and what the harness costs: benchmarks/README.md

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

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
PYTEST := $(BIN)/pytest -n $(PYTEST_WORKERS) --dist worksteal
# What is installed and never imported is not compiled, which takes a minute; the rest is when it is first imported
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

.PHONY: demo walkthrough test lint types ci-full ci all-tests docs notebooks bench install clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "raglift needs Python 3.11 or later; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	@echo 'Installing into $(VENV): a few minutes, most of it PyTorch …'
	$(PIP_INSTALL) torch==2.13.0
	$(PIP_INSTALL) -e '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/raglift demo

walkthrough: $(STAMP)
	$(BIN)/raglift walkthrough

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

test: lint types
	$(PYTEST) -m 'not slow'

ci-full: $(STAMP)
	$(PYTEST) -m slow

# One run of all tests, the slow ones first: no core waits for another, and nothing is embedded twice
all-tests: $(STAMP)
	$(PYTEST)

ci: $(STAMP)
	$(MAKE) --jobs lint types all-tests

notebooks: $(STAMP)
	$(BIN)/python notebooks/running.py

# The pages that list the command line and the public names are written anew first
docs: $(STAMP)
	$(BIN)/python tests/docs/references.py
	$(BIN)/python tests/docs/licences.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Each prints its ratios; more processes than one would take each other's time
bench: $(STAMP)
	$(BIN)/python benchmarks/scoring.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/sweep.py --defaults

clean:
	rm -rf $(VENV) dist build site .pytest_cache .mypy_cache .ruff_cache .hypothesis

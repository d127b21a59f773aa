# One environment in .venv; every target sets up what it needs, once.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt
PLANNER := $(VENV)/planner
READY := $(VENV)/ready

MINUTES ?= 30

.PHONY: help setup demo test fuzz lint tables clean

help:
	@echo "make demo    set up, plan the example day trip, write out/city.png"
	@echo "make test    set up, run the tests"
	@echo "make fuzz    set up, look for faults with random instances for MINUTES=30"
	@echo "make lint    set up, run ruff and mypy"
	@echo "make tables  set up, fill the tables of the pages from docs/results/data"
	@echo "make clean   remove the environment and the picture of the day trip"

setup: $(READY)

$(PLANNER): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "decost needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $(PLANNER)

$(READY): $(PLANNER)
	$(PIP) -e '.[dev]'
	@touch $(READY)

demo: $(PLANNER)
	@mkdir -p out
	@$(RUN) -m decost solve examples/data/city.json --plot out/city.png

test: setup
	$(RUN) -m pytest -n 2 --dist loadfile

fuzz: setup
	$(RUN) tests/fuzz.py $(MINUTES)

lint: setup
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

tables: setup
	$(RUN) -m decost.bench.docs

clean:
	rm -rf $(VENV) out/city.png

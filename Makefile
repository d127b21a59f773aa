# One environment in .venv; every target sets up what it needs, once.
PYTHON ?= python3
PYTEST := -m pytest
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt
PLANNER := $(VENV)/planner
READY := $(VENV)/ready

MINUTES ?= 30

# Two lists of methods that take about as long to compile, one a core.
ONE := exact columns
OTHER := search ils greedy
CARRIED := src/decost/kernels

.PHONY: help setup demo test valhalla fuzz lint docs tables wheel cold-start limits clean

help:
	@echo "make demo    set up, plan the example day trip, by a proof and by a network, write out/city.png"
	@echo "make test    set up, run the tests"
	@echo "make valhalla  set up, fetch the routing engine for the tests of streets, which else replay its answers"
	@echo "make fuzz    set up, look for faults with random instances for MINUTES=30"
	@echo "make lint    set up, run ruff and mypy"
	@echo "make docs    set up, make a site of the documentation, out/docs/index.html"
	@echo "make tables  set up, fill the tables of the pages from docs/results/data"
	@echo "make wheel   set up, make a wheel that carries its machine code, and try it"
	@echo "make cold-start  set up, measure the first plan after an installation"
	@echo "make limits  set up, measure by how much time limits are overstepped"
	@echo "make clean   remove the environment and the picture of the day trip"

setup: $(READY)
	@$(call compile,)

# Kernels that are there already are only loaded.
compile = $(1) $(RUN) -m decost.cli.prepare $(OTHER) 2> /dev/null & \
	$(1) $(RUN) -m decost.cli.prepare $(ONE) && wait $$!

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
	@$(RUN) -m decost solve examples/data/city.json --method decost > /dev/null 2>&1 & \
	$(RUN) -m decost solve examples/data/city.json > /dev/null; wait
	@$(RUN) -m decost solve examples/data/city.json --beside decost --plot out/city.png

# In the order of the folders: by their number of tests, the longest files would come last.
test: setup
	$(RUN) $(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder

# Its programs need no Python, and only the wheels for newer ones than ours may be have them.
valhalla: $(READY)
	$(PIP) --upgrade --no-deps --only-binary=:all: --python-version 3.12 --target $(VENV)/valhalla pyvalhalla

fuzz: setup
	$(RUN) tests/fuzz.py $(MINUTES)

lint: setup
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

docs: $(READY)
	$(RUN) -m mkdocs build --strict --quiet
	@echo "wrote out/docs/index.html"

tables: setup
	$(RUN) -m decost.bench.docs

wheel: $(PLANNER)
	rm -rf $(CARRIED) $(VENV)/carried
	@$(call compile,DECOST_KERNELS=compile NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=$(VENV)/carried)
	mv $(VENV)/carried/decost $(CARRIED)
	@$(RUN) -c 'import numba; print(numba.__version__)' > $(CARRIED)/numba.txt
	$(RUN) -m pip wheel --quiet --no-deps --wheel-dir dist . ; code=$$?; rm -rf $(CARRIED); exit $$code
	$(RUN) tests/wheel.py dist

cold-start: $(READY)
	@$(RUN) tests/cold_start.py

limits: setup
	$(RUN) tests/limits.py

clean:
	rm -rf $(VENV) out/city.png

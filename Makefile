# What a contributor types. PYTHON may name another interpreter: make check PYTHON=.venv/bin/python
PYTHON ?= $(shell [ -x .venv/bin/python ] && echo .venv/bin/python || echo python3)

.PHONY: install test test-gpu check format samples screenshots protos bench

install:            ## an editable install with everything a contributor needs
	$(PYTHON) -m pip install -e ".[dev]"

test:               ## the whole suite
	$(PYTHON) -m pytest

test-gpu:           ## what needs a CUDA device
	$(PYTHON) -m pytest -m gpu -n 0

check:              ## lint, format, types, import contracts: what CI runs beside the tests
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(PYTHON) -m importlinter.cli lint 2>/dev/null || $(dir $(PYTHON))lint-imports

format:             ## mend what can be mended by itself
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

samples:            ## write sample_nets/ anew, from fixed seeds
	$(PYTHON) -m sample_nets.build

screenshots:        ## take the README's pictures from the running app
	$(PYTHON) -m screenshots.take

protos:             ## compile the .proto texts
	$(PYTHON) gradviz/proto/compile.py

bench:              ## time and memory, as ratios in one run
	$(PYTHON) -m benchmarks

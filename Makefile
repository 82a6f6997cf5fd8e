# Two commands do everything: `make demo` and `make test`. Both set up .venv first, from the pinned constraints.
# On plain Linux, PIP_ARGS='--extra-index-url …' can point pip at PyTorch's CPU builds.
PYTHON ?= python3
PIP_ARGS ?=
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test test-gpu format docs clean help

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check -q $(PIP_ARGS) -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY) ## watch two samplers decode, get tables, a report and a picture
	$(BIN)/infogain demo

test: $(READY) ## every check of the fast tier: lint, types, layers, tests, coverage
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/paper_map.py --check
	$(BIN)/python tools/results.py --check
	$(BIN)/python -m pytest -n auto --cov --cov-report=term-missing:skip-covered

test-gpu: $(READY) ## the laws on a CUDA device
	@$(BIN)/python -c 'import torch, sys; torch.cuda.is_available() or sys.exit("test-gpu needs a CUDA device and a CUDA build of torch; none found, nothing was tested")'
	$(BIN)/python -m pytest -o addopts="-q" tests/gpu

docs: $(READY) ## write docs/paper-map.md anew from the docstrings, docs/results.md and docs/speed.md from the numbers
	$(BIN)/python tools/paper_map.py
	$(BIN)/python tools/results.py

format: $(READY) ## fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the environment and all outputs
	rm -rf .venv .coverage .mypy_cache .ruff_cache .hypothesis build dist demo studies

# Two commands do everything: `make demo` and `make test`. Both set up .venv first, from the pinned constraints,
# with uv where it can be had, else with pip. On plain Linux, PIP_ARGS='--extra-index-url …' can point either at
# PyTorch's CPU builds.
PYTHON ?= python3
PIP_ARGS ?=
BIN := .venv/bin
READY := .venv/ready
TIER := -q -rs --strict-markers --strict-config -p no:cacheprovider

.PHONY: demo test test-sandbox test-endurance test-interpreted test-gpu test-coverage format docs clean help

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python tools/install.py $(PIP_ARGS)
	@touch $@

# Threads that wait for each other sleep: spinning, as is their habit, they slow a busy machine down tenfold.
demo: export OMP_WAIT_POLICY ?= passive
demo: $(READY) ## watch two samplers decode, get tables, a report and a picture
	$(BIN)/infogain demo --overwrite

test: $(READY) ## every check of the fast tier: lint, types, layers, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/paper_map.py --check
	$(BIN)/python tools/results.py --check
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow"

# Further tiers: each says what is absent where the machine cannot run it. `.ci/run` runs all it can.
test-sandbox: $(READY) ## the sandbox under attack, in three set-ups of privileges (Linux)
	@$(BIN)/python tools/tiers.py $@
	$(BIN)/python -m pytest -o addopts="$(TIER)" tests/sandbox

test-endurance: $(READY) ## twenty thousand rows through one batch leave memory flat (Linux)
	@$(BIN)/python tools/tiers.py $@
	$(BIN)/python -m pytest -o addopts="$(TIER)" tests/endurance

test-interpreted: $(READY) ## whole decodes by the GPU's kernels, interpreted on the CPU (Triton)
	@$(BIN)/python tools/tiers.py $@
	TRITON_INTERPRET=1 $(BIN)/python -m pytest -o addopts="$(TIER)" tests/interpreted

test-gpu: $(READY) ## the laws on a CUDA device, in order and in a random one
	@$(BIN)/python tools/tiers.py $@
	$(BIN)/python -m pytest -o addopts="$(TIER)" tests/gpu
	$(BIN)/python -m pytest -o addopts="$(TIER)" --shuffle $$$$ tests/gpu

test-coverage: $(READY) ## all tests of the fast tier and the slow ones it leaves out, and the lines that none of them runs
	@$(BIN)/python tools/tiers.py $@
	$(BIN)/python -m pytest -n auto --dist loadgroup --cov --cov-report=term-missing:skip-covered

docs: $(READY) ## write what is made from other files: the paper map, pages of numbers, pictures, the outline of commands
	$(BIN)/python tools/paper_map.py
	$(BIN)/python tools/commands.py
	$(BIN)/python tools/results.py
	$(BIN)/python tools/pictures.py
	$(BIN)/python tools/antibodies.py

format: $(READY) ## fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the environment and all outputs
	rm -rf .venv .coverage .mypy_cache .ruff_cache .hypothesis build dist demo studies

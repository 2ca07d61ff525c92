# `make demo` and `make test` are all there is to know; each installs what it needs.

PYTHON ?= python3
BIN := .venv/bin
NPM_STAMP := client-vscode/node_modules/.installed

.PHONY: help demo test test-python test-vscode test-editors lint bench generate lock clean

help:
	@echo "make demo          the main job on a small workspace, no key and no network"
	@echo "make test          every test but those that need an editor; linters, types"
	@echo "make test-editors  install the real editors and servers, and test with them"
	@echo "make lint          linters and types alone"
	@echo "make bench         ours over the floor, one table"
	@echo "make generate      the files made from the protocol registry"
	@echo "make lock          requirements/*.txt anew, from pyproject.toml"

.venv/.run: requirements/run.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "agentls needs Python 3.11 or newer; name one with PYTHON=")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: .venv/.run requirements/dev.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@touch $@

$(NPM_STAMP): client-vscode/package-lock.json
	cd client-vscode && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

demo: .venv/.run
	@$(BIN)/python scripts/demo.py

test: lint test-vscode test-python

# Last, so that pytest's closing line is what one sees.
test-python: .venv/.dev $(NPM_STAMP)
	$(BIN)/python -m pytest -m "not editors"

test-vscode: $(NPM_STAMP)
	cd client-vscode && npm run --silent check && npm test --silent

test-editors: .venv/.dev $(NPM_STAMP)
	scripts/install_editors.sh
	$(BIN)/python -m pytest -m editors

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --project .
	$(BIN)/pyright --project benchmarks
	$(BIN)/lint-imports --no-cache > /dev/null || $(BIN)/lint-imports --no-cache
	$(BIN)/agentls generate --check

bench: .venv/.dev
	$(BIN)/python benchmarks/bench.py

generate: .venv/.run
	$(BIN)/agentls generate

# Hashes and versions alone: no address of an index ever stands in these files.
lock:
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --group build -o requirements/run.txt
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --group dev -o requirements/dev.txt

clean:
	rm -rf .venv .editors artifacts client-vscode/node_modules client-vscode/out

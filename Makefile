# Each target sets up what it needs and may be run twice. PYTHON is the Python (3.10 or newer) that .venv is made with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NEOVIM := build/.neovim
TORCH ?= 2.8.0
TOGETHER := tests/parity tests/ranges tests/rules tests/refactors tests/sandbox tests/worker $(wildcard tests/test_*.py)
WORKER = build/torch-$(TORCH)-py$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

.PHONY: demo install vsix test test-e2e screenshots test-full test-torch lint lint-extension neovim bench bench-fixes bench-reach bench-record bench-focus bench-sandbox soak clean

demo: install  ## run the main job on examples/ (exit status 1 only says that breaks were found)
	@echo "== graphbreak check examples"
	@$(BIN)/graphbreak check examples; status=$$?; test $$status -eq 1 || exit $$status

install: $(STAMP)  ## make .venv with the product, torch and the test tools

$(STAMP): pyproject.toml tests/requirements.txt
	@echo "== making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "graphbreak needs Python 3.10 or newer; set PYTHON=..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "== installing torch, transformers and the test tools (minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@echo "== installing graphbreak itself"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

lint: install  ## formatting, lint and types
	@echo "== ruff and mypy"
	@$(BIN)/ruff format --check --quiet server tests examples || { $(BIN)/ruff format --diff server tests examples; exit 1; }
	@$(BIN)/ruff check --quiet server tests examples
	@$(BIN)/mypy

lint-extension: install  ## types, lint and unit tests of the VS Code extension
	@echo "== the extension: types, lint, unit tests"
	@PYTHON=$(CURDIR)/$(BIN)/python bash vscode-extension/build.sh check

vsix: install  ## build/graphbreak.vsix, one package for every platform
	@PYTHON=$(CURDIR)/$(BIN)/python bash vscode-extension/build.sh

neovim: $(NEOVIM)

$(NEOVIM):
	@mkdir -p build
	@sh tests/e2e/install_neovim.sh
	@touch $@

test: install lint lint-extension neovim  ## everything
	@echo "== tests, one after another: editors, hostile programs, what looks at the clock"
	@$(BIN)/python -m pytest $(TOGETHER:%=--ignore=%)
	@echo "== tests, two files at a time"
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(TOGETHER)

test-full: install lint lint-extension neovim  ## everything, with the long versions of the property tests
	@echo "== tests, long versions"
	@HYPOTHESIS_PROFILE=full $(BIN)/python -m pytest $(TOGETHER:%=--ignore=%)
	@HYPOTHESIS_PROFILE=full $(BIN)/python -m pytest -n 2 --dist loadfile $(TOGETHER)

test-e2e: install neovim  ## the real server in real editors, VS Code included; screenshots in build/e2e
	@$(BIN)/python -m pytest tests/e2e

screenshots: install  ## the README's pictures, taken anew by the tests
	@mkdir -p docs/images
	@GRAPHBREAK_PICTURES=$(CURDIR)/docs/images $(BIN)/python -m pytest tests/e2e/vscode/test_pictures.py

test-torch: install  ## parity, ranges and cases against another torch, and another Python: make test-torch TORCH=2.8.0 PYTHON=python3.12
	@echo "== torch $(TORCH) in $(WORKER)"
	@test -x $(WORKER)/bin/python || $(PYTHON) -m venv $(WORKER)
	@$(WORKER)/bin/python -m pip install --quiet --disable-pip-version-check torch==$(TORCH) numpy
	@GRAPHBREAK_TEST_PYTHON=$(CURDIR)/$(WORKER)/bin/python $(BIN)/python -m pytest tests/parity tests/ranges tests/test_cases.py

bench: install  ## how fast everything is, as ratios in one run (about 25 minutes on a quiet machine): benchmarks/RESULTS.md
	@PYTHONPATH=server:. $(BIN)/python -m benchmarks.speed

bench-reach: install  ## how many marked functions that nothing calls are traced, and as truly as with true inputs: benchmarks/reach/RESULTS.md
	@PYTHONPATH=server:. $(BIN)/python -m benchmarks.reach

bench-record: install  ## what `graphbreak record` costs a training script, in pairs of runs (15 minutes): benchmarks/record/RESULTS.md
	@PYTHONPATH=server:. $(BIN)/python -m benchmarks.record

bench-fixes: install  ## how many breaks the fixes remove, over given programs and vendored models (an hour): benchmarks/fixes/RESULTS.md
	@status=0; $(BIN)/python benchmarks/fixes/run.py --results benchmarks/fixes/RESULTS.md || status=1; \
	PYTHONPATH=server:. $(BIN)/python -m benchmarks.fixes.verdict || status=1; exit $$status

bench-focus: install  ## how soon the breaks of an edited layer are shown, against the whole model's trace: benchmarks/focus/RESULTS.md
	@PYTHONPATH=server:. $(BIN)/python -m benchmarks.focus

bench-sandbox: install  ## what the sandbox costs a trace, with and without it by turns: benchmarks/sandbox/RESULTS.md
	@PYTHONPATH=server:. $(BIN)/python -m benchmarks.sandbox

soak: install  ## 2,000 traces, good and hostile, through one server (half an hour): benchmarks/soak/RESULTS.md
	@mkdir -p benchmarks/soak
	@PYTHONPATH=server:tests $(BIN)/python -m faults.soaking --results benchmarks/soak/RESULTS.md

clean:  ## remove what the other targets made
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache

# One command sets up and runs (`make run`), one tests (`make test`).
# Both install what they need into .venv first, and are quick when nothing changed.

BIN := .venv/bin
PORT ?= 8765
# Tests wait more than they compute, so there are more workers than cores. WORKERS=0 runs them one by one.
WORKERS ?= 4
SPREAD = -n $(WORKERS) --dist loadgroup

.PHONY: help setup setup-run native run test check format soak bench clean

help:
	@echo "make run     set up and serve MCP over HTTP on loopback (PORT=$(PORT))"
	@echo "make test    set up and run every test but the soak tests"
	@echo "make check   format, lint, types, and the quick tests"
	@echo "make bench   measure, with ratios to a C floor"
	@echo "make soak    the long tests: leaks, races, thousands of processes"
	@echo "make setup   only set up; make native: only rebuild the launcher"
	@echo "make format  rewrite the sources as ruff formats them; make clean: start anew"

setup:
	@scripts/setup.sh test

setup-run:
	@scripts/setup.sh run

native:
	@scripts/setup.sh native

run: setup-run
	@exec $(BIN)/fairlead mcp --http --port $(PORT)

# Thousands of processes at a time disturb each other now and then. What fails is named, and tried once more alone:
# only what passes there, undisturbed, is forgiven.
test: setup
	$(BIN)/python -m pytest -q $(SPREAD) --durations=10 $(ARGS) || \
	{ [ $$? = 1 ] && echo "make test: once more, one by one" && \
	$(BIN)/python -m pytest -q --last-failed --last-failed-no-failures=none --maxfail=3 -n 0 $(ARGS); }

check: setup
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy
	$(BIN)/python -m pytest -q $(SPREAD) -x -m "not soak and not slow"

format: setup
	$(BIN)/python -m ruff check --fix-only -q .
	$(BIN)/python -m ruff format -q .

soak: setup
	$(BIN)/python -m pytest -q -m soak --timeout=3600 $(ARGS)

bench: setup
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf .venv build dist src/*.egg-info .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
	find src/fairlead/_native -type f ! -name '__init__.py' -delete 2>/dev/null || true

# Two commands for newcomers: `make demo` and `make test`. `make help` lists the rest.

PYTHON ?= python3
VENV ?= .venv
# Processes for the tests: as many as there are cores, four at most (each takes up to a GB). WORKERS=0 runs them in one.
WORKERS ?= auto
RUN := $(VENV)/bin/python
# Without byte-compiling: most of what is installed is never imported, and what is gets compiled then.
PIP := $(RUN) -m pip --disable-pip-version-check install -qq --no-compile

# Many containers forbid Python to keep the bytecode of what it imports. Then every process that a test starts compiles
# scikit-learn and SciPy anew, and needs 2.2 s to import SVC instead of 0.9 s.
unexport PYTHONDONTWRITEBYTECODE

# Tests, spread over the processes; then those that measure time, with nothing beside them, also if one of the first
# failed (code 1), but not after Ctrl-C. $(1): which tests, $(2): options.
define run_tests
	$(RUN) -m pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal $(2) -m "not alone$(1)"; code=$$?; \
	    test $$code -le 1 || exit $$code; $(RUN) -m pytest $(2) -m "alone$(1)" && exit $$code
endef

.DEFAULT_GOAL := help
.PHONY: help demo docs docs-serve cluster cluster-check test lint check cover dist floors fuzz mutants suites surroundings bench platt clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

# One stamp per set of dependencies: a second run goes straight to the work.
$(VENV)/stamp-plots: pyproject.toml
	@echo "Setting up $(VENV) (once)"
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@$(PIP) --editable '.[plots]'
	@touch $@

$(VENV)/stamp-test: pyproject.toml
	@echo "Setting up $(VENV) with the test tools (once)"
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@$(PIP) --editable '.[plots,test]'
	@touch $@ $(VENV)/stamp-plots

$(VENV)/stamp-dask: pyproject.toml
	@echo "Setting up $(VENV) with Dask (once)"
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@$(PIP) --editable '.[plots,dask]'
	@touch $@

$(VENV)/stamp-docs: pyproject.toml
	@echo "Setting up $(VENV) with the tools of the site (once)"
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/stamp-plots

$(VENV)/stamp-dev: pyproject.toml
	@echo "Setting up $(VENV) with the development tools (once)"
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@$(PIP) --editable '.[plots,dev]'
	@touch $@ $(VENV)/stamp-plots $(VENV)/stamp-test

# LIBSVM itself, to compare with, comes as source only. Where it cannot be compiled, the tests that need it are skipped.
$(VENV)/stamp-libsvm: pyproject.toml | $(VENV)/stamp-test
	@if ! command -v $(CXX) > /dev/null; then echo "left out: libsvm-official: no compiler"; \
	elif $(PIP) 'libsvm-official>=3.31'; then touch $@; else echo "left out: libsvm-official: could not be built"; fi

demo: $(VENV)/stamp-plots  ## train, certify, time against scikit-learn, draw a boundary
	@$(RUN) examples/demo.py

cluster: $(VENV)/stamp-dask  ## start a local Dask cluster, fit on it, end a worker in the middle, compare with a local fit
	@$(RUN) examples/cluster.py

# Three turns of those that compare times, which need a machine with nothing else on it.
cluster-check: $(VENV)/stamp-test  ## all tests of the cluster, and its measurements; DATA=folder of data sets; half an hour
	$(RUN) -m pytest -q tests/dask/check_*.py
	for what in losses predictions replay speed speed speed search search search report; do \
	    $(RUN) -m benchmarks.cluster $$what $(if $(DATA),--data "$(DATA)") $(ARGS) || exit; done

# Runs the gallery too, each example once: an example runs again when its script changes. The code on the pages is run by
# the tests (tests/docs).
docs: $(VENV)/stamp-docs  ## the documentation site in docs_out/, warnings as errors, every link followed
	$(RUN) -m sphinx --quiet --fail-on-warning --keep-going --doctree-dir docs_out/.doctrees -b html docs docs_out/html
	$(RUN) docs/building/check_links.py docs_out/html

docs-serve: docs  ## build the site and open it in a browser
	@echo "http://localhost:8000 shows the site; Ctrl-C ends this"
	@(sleep 1; $(RUN) -m webbrowser http://localhost:8000) & \
	    $(RUN) -m http.server --bind localhost --directory docs_out/html 8000

test: $(VENV)/stamp-test $(VENV)/stamp-libsvm  ## the whole test suite
	$(call run_tests,,)

lint: $(VENV)/stamp-dev  ## linter, format, types
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy

check: lint $(VENV)/stamp-libsvm  ## lint, and the fast tests, in about a minute
	$(call run_tests, and not slow,-q --ignore=tests/reference --ignore=tests/examples --ignore=tests/benchmarks)

# Tests may fail because they are cut off: whether results are right is for `make test`. The report fails if lines that
# were covered are not any more (fail_under in pyproject.toml).
cover: $(VENV)/stamp-dev  ## coverage, with compiled functions run as plain Python for half a second per test
	NUMBA_DISABLE_JIT=1 $(RUN) -m coverage run -m pytest -q -p no:xdist -p tests.project.interpreted \
	    -m "not slow and not needs_compiler" || true
	$(RUN) -m coverage report

# Python 3.11 is the lowest; FLOORS_PYTHON=... names another one that these versions have wheels for.
floors:  ## estimator, drop-in and ONNX tests on the lowest versions of all dependencies, in .venv-floors
	@test -x .venv-floors/bin/python || $(or $(FLOORS_PYTHON),python3.11) -m venv .venv-floors
	@.venv-floors/bin/python -m pip --disable-pip-version-check install -qq --no-compile -r tests/floors.txt
	NUMBA_CACHE_DIR=.venv-floors/cache .venv-floors/bin/python -m pytest -q -n $(WORKERS) --maxprocesses 4 -m "not slow" \
	    tests/estimators tests/drop_in tests/io/test_onnx_export.py

# ARGS: anything `python -m tests.fuzz --help` lists, for example ARGS="--seed 139 --count 1" to repeat one case
fuzz: $(VENV)/stamp-test  ## attack certificates, file readers and interrupted fits; MINUTES=n
	$(RUN) -m tests.fuzz --minutes $(or $(MINUTES),5) $(ARGS)

surroundings: $(VENV)/stamp-test  ## README's first example without a home, streams, a writable disk, ...; some minutes
	$(RUN) -m tests.project.surroundings

# ARGS: "--only model_selection" for a part of the files, and anything that pytest takes
suites: $(VENV)/stamp-test  ## scikit-learn's own tests that use a support vector machine or a search, with ours; some minutes
	$(RUN) -m tests.drop_in.suites -n $(WORKERS) --maxprocesses 4 $(ARGS)

# The source distribution, unpacked elsewhere with other times and permissions, has to build both files again, byte by byte.
dist: $(VENV)/stamp-dev  ## wheel and source distribution in dist/, built twice and compared
	rm -rf dist build && mkdir -p build
	$(RUN) -m build --outdir dist . > build/log
	umask 077; tar --extract --gzip --touch --file dist/*.tar.gz --directory build
	$(RUN) -m build --outdir build/dist build/widemargin-* >> build/log
	diff --recursive dist build/dist && echo "both builds are equal:" && sha256sum dist/*

# Changes one place at a time, with compiled functions run as plain Python. ARGS: files such as problems/dual.py
mutants: $(VENV)/stamp-test  ## change problems and certificate by a slip each, and see that a test fails; MINUTES=n
	$(RUN) -m tests.mutation --minutes $(or $(MINUTES),30) $(ARGS)

# The peers are no dependencies of ours: each that has no wheel for this machine is left out, and the report says so.
$(VENV)/stamp-peers: benchmarks/peers/requirements.txt $(VENV)/stamp-test
	@echo "Setting up $(VENV) with the peers (once)"
	@grep -v '^#' $< | while read -r peer; do $(PIP) "$$peer" || echo "left out: $$peer"; done
	@touch $@

# ARGS: anything `python -m benchmarks.peers --help` lists, for example ARGS="--quick" or ARGS="--only a9a"
bench: $(VENV)/stamp-peers  ## training beside the peers, every answer checked; DATA=folder of data sets, ARGS=--quick
	@test -n "$(DATA)" || { echo "Say where the data are: make bench DATA=folder [ARGS=--quick]"; exit 2; }
	$(RUN) -m benchmarks.peers --data "$(DATA)" $(ARGS)

platt: $(VENV)/stamp-test  ## Platt's benchmark of 1998; DATA=folder of LIBSVM files, without it the generated sets only
	$(RUN) -m benchmarks.platt1998 $(if $(DATA),--data "$(DATA)",--generated) $(if $(FULL),--full)

clean:  ## remove the environment and everything that was generated
	rm -rf $(VENV) .venv-floors demo_out bench_out platt1998_out exercise_out figures_out docs_out docs/gallery docs/notebooks docs/api/generated build dist htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

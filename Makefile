# Everything here works on a fresh clone with nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := -m pip install --quiet --disable-pip-version-check
PYTEST := -m pytest -q -n auto --dist worksteal
# What test-lowest and test-like-windows run.
TESTS ?= tests
# What test-studies runs: `make test-studies MARKS=data` are the slow checks on real data; AUCMAX_DATA names their folder.
MARKS ?= not data

.PHONY: help demo test test-all test-studies test-lowest test-like-windows test-wheel lint types check docs study constraints clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  \1 · /' | awk -F' · ' '{printf "%-22s%s\n", $$1, $$2}'

demo: $(VENV)/.installed ## fit, judge and report on a small data set
	$(BIN)/aucmax demo --force

test: $(VENV)/.installed ## the tests to wait for
	$(BIN)/python $(PYTEST) -m 'not slow and not data' $(COVERAGE)

test-all: ## all tests with their coverage, and the tests of the studies
	$(MAKE) test COVERAGE='--cov --cov-report='
	$(BIN)/python $(PYTEST) -m 'slow and not data' --cov --cov-append --cov-fail-under=95
	$(MAKE) test-studies

test-studies: $(VENV)/.studies ## the tests of the studies
	cd studies && $(abspath $(BIN))/python $(PYTEST) -m '$(MARKS)'

test-lowest: .venv-lowest/.installed ## the tests with the lowest versions that pyproject.toml allows
	.venv-lowest/bin/python $(PYTEST) -m 'not slow and not data' $(TESTS)

# The part where releases differ most, for `make test-lowest TESTS='$(RELEASES)'`: callbacks and validation, scikit-learn's
# checks of one estimator of each kind, model files, frames of pandas, polars and Arrow, figures, the command line, Dask,
# arrays of the array API standard, and the ONNX export.
RELEASES := tests/test_classifier.py tests/test_estimator_checks.py tests/test_metrics.py tests/test_packaging.py \
	tests/models/test_model_file.py tests/models/test_onnx_export.py tests/tables tests/report tests/cli/test_json.py \
	tests/rows/dask/test_dask.py tests/rows/device/test_device.py

test-like-windows: $(VENV)/.installed ## the tests without what only POSIX has, in a locale of ASCII alone
	LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 PYTHONPATH=tests $(BIN)/python $(PYTEST) -p like_windows $(TESTS)

test-wheel: ## build sdist and wheel, and try the wheel alone in an empty environment
	rm -rf dist
	$(PYTHON) -m venv --clear .venv-wheel
	.venv-wheel/bin/python $(PIP) build
	.venv-wheel/bin/python -m build
	$(PYTHON) -m venv --clear .venv-wheel
	.venv-wheel/bin/python $(PIP) -c constraints.txt "$$(echo dist/*.whl)[all]"
	.venv-wheel/bin/python tests/try_wheel.py README.md

lint: $(VENV)/.installed ## style and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell

types: $(VENV)/.installed ## types
	$(BIN)/mypy

check: test lint types ## what to run before you send a change

# Offline and with warnings as errors: the reference, the guide and the gallery, whose scripts are run. Then all links are
# checked, and that no page asks for anything from outside.
docs: $(VENV)/.installed ## build the site in build/site
	$(BIN)/python $(PIP) -c constraints.txt -e '.[docs]'
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -j auto docs build/site
	$(BIN)/python docs/_tools/check_links.py build/site

# Without NAME it lists the studies; studies/README.md says what they cost. OPTIONS are options of the study.
study: $(VENV)/.studies ## measure and write pages: make study NAME=peers
	$(if $(filter papers peers tables,$(NAME)),$(BIN)/python $(PIP) -c constraints.txt -e './studies[$(NAME)]')
	$(BIN)/python -m aucmax_studies $(NAME) $(OPTIONS)

constraints: ## pin the newest versions that pyproject.toml allows
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python $(PIP) -e '.[dev,docs]'
	echo "# The exact versions that CI and the Makefile install, with the extras dev and docs; 'make constraints' writes the newest." > constraints.txt
	$(BIN)/python -m pip freeze --exclude-editable >> constraints.txt
	touch $(VENV)/.installed

clean: ## remove what the targets make
	rm -rf $(VENV) .venv-lowest .venv-wheel dist build .coverage docs/auto_examples docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -c constraints.txt -e '.[dev]'
	touch $@

$(VENV)/.studies: $(VENV)/.installed studies/pyproject.toml
	$(BIN)/python $(PIP) -c constraints.txt -e ./studies
	touch $@

.venv-lowest/.installed: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python $(PIP) -c constraints-lowest.txt -e '.[dev]'
	touch $@

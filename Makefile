# Everything here works on a fresh clone with nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test test-data lint types check bench defaults losses algorithms stochastic margin epochs nystroem published gaussian io constraints clean

demo: $(VENV)/.installed
	$(BIN)/aucmax demo --force

test: $(VENV)/.installed
	$(BIN)/python -m pytest -q

# Slow checks on real data; AUCMAX_DATA names the folder (see benchmarks/realdata.py).
test-data: $(VENV)/.installed
	$(BIN)/python -m pytest -q -m data

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed
	$(BIN)/mypy

check: test lint types

# Measures the ratios of the README again and writes them there.
bench: $(VENV)/.installed
	$(BIN)/python benchmarks/core.py --write README.md

# Measures the alternatives to the defaults again and writes docs/defaults.md.
defaults: $(VENV)/.installed
	$(BIN)/python benchmarks/defaults.py --write docs/defaults.md

# Measures the losses beside a tuned logistic regression again and writes docs/losses.md.
losses: $(VENV)/.installed
	$(BIN)/python benchmarks/losses.py --write docs/losses.md

# Writes the table of the algorithms into the README.
algorithms: $(VENV)/.installed
	$(BIN)/python benchmarks/algorithms.py --write README.md

# Measures what epochs and sparse fits cost and writes docs/stochastic.md.
stochastic: $(VENV)/.installed
	$(BIN)/python benchmarks/stochastic.py --write docs/stochastic.md

# Measures what the other losses and the algorithms on pairs cost and writes docs/margin.md.
margin: $(VENV)/.installed
	$(BIN)/python benchmarks/margin.py --write docs/margin.md

# Measures AUC by epochs, draws it and writes docs/epochs.md.
epochs: $(VENV)/.installed
	$(BIN)/python benchmarks/epochs.py --write docs/epochs.md

# Measures kernel features and writes docs/nystroem.md.
nystroem: $(VENV)/.installed
	$(BIN)/python benchmarks/nystroem.py --write docs/nystroem.md

# Measures beside the papers' figures and writes docs/published.md; takes some ten minutes.
published: $(VENV)/.installed
	$(BIN)/python benchmarks/published.py --write docs/published.md

# The same for Ghanbari and Scheinberg (2018): docs/gaussian.md.
gaussian: $(VENV)/.installed
	$(BIN)/python benchmarks/gaussian.py --write docs/gaussian.md

# Measures reading, fits by blocks and their memory, and writes docs/files.md; takes some five minutes.
io: $(VENV)/.installed
	$(BIN)/python benchmarks/io.py --write docs/files.md

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# The newest versions that fit pyproject.toml, pinned.
constraints:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	echo "# The exact versions that the Makefile installs; 'make constraints' writes them anew." > constraints.txt
	$(BIN)/python -m pip freeze --exclude-editable >> constraints.txt
	touch $(VENV)/.installed

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

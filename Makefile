# Everything here works on a fresh clone with nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test test-lowest test-lowest-quick test-like-windows test-wheel test-data lint types check bench defaults variants losses algorithms which stochastic beside-c margin nystroem io papers peers tables scale scaling gpu fuzz faults docs printed constraints clean

demo: $(VENV)/.installed
	$(BIN)/aucmax demo --force

test: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n auto --dist worksteal

# The same with the lowest versions that pyproject.toml allows; TESTS names what is run. Benchmarks are no part of the
# package: they run with the pinned versions only.
TESTS ?= tests --ignore=tests/benchmarks
test-lowest: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest -q -n auto --dist worksteal $(TESTS)

# The part of it where releases differ most: callbacks and validation, scikit-learn's checks of one estimator of each kind,
# model files, frames of pandas, polars and Arrow, figures, the command line, Dask, arrays of the array API standard, and the
# ONNX export. It takes three minutes of one core. CI runs this part, the workflow on GitHub all.
RELEASES := tests/estimators tests/models/test_model_file.py tests/tables tests/report tests/cli/test_json.py \
	tests/data/test_dask.py tests/test_device.py tests/test_metrics.py tests/models/test_onnx_export.py tests/test_packaging.py
test-lowest-quick: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest -q -n auto --dist worksteal $(RELEASES) \
		-k "not test_estimator_check or GaussianAUC or SOLAM or KMeansNystroem or TableEncoder"

.venv-lowest/.installed: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt -e '.[dev]'
	touch $@

# The tests without what only POSIX has, and in a locale that knows only ASCII: what needs them would fail on Windows.
test-like-windows: $(VENV)/.installed
	LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 PYTHONPATH=tests $(BIN)/python -m pytest -q -p like_windows \
		-n auto --dist worksteal $(TESTS)

# Builds the sdist, the wheel from it, and tries the wheel alone in an empty environment.
test-wheel:
	rm -rf dist
	$(PYTHON) -m venv --clear .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check build
	.venv-wheel/bin/python -m build
	$(PYTHON) -m venv --clear .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(echo dist/*.whl)[all]"
	.venv-wheel/bin/python tests/try_wheel.py README.md

# Slow checks on real data; AUCMAX_DATA names their folder (see benchmarks/realdata.py).
test-data: $(VENV)/.installed
	$(BIN)/python -m pytest -q -m data

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell

types: $(VENV)/.installed
	$(BIN)/mypy

check: test lint types

# What the benchmarks show and cost: benchmarks/README.md.
# Measures the ratios of docs/speed.md again and writes them there.
bench: $(VENV)/.installed
	$(BIN)/python benchmarks/core.py --write docs/speed.md

# Measures the alternatives to the defaults again and writes docs/defaults.md.
defaults: $(VENV)/.installed
	$(BIN)/python benchmarks/defaults.py --write docs/defaults.md

# Measures what benchmarks/results/variants.json lacks of the defaults of the algorithms beside the papers' variants, as a
# whole and by each deviation, and writes docs/variants.md and the gains in the docstrings.
variants: $(VENV)/.installed
	$(BIN)/python benchmarks/variants.py --write docs/variants.md --docstrings

# Measures the losses beside a tuned logistic regression again and writes docs/losses.md.
losses: $(VENV)/.installed
	$(BIN)/python benchmarks/losses.py --write docs/losses.md

# Writes the table of the algorithms into the guide.
algorithms: $(VENV)/.installed
	$(BIN)/python benchmarks/algorithms.py --write docs/guide/papers.md

# Draws the flow chart of docs/which.md.
which: $(VENV)/.installed
	$(BIN)/python docs/which_one.py --write docs/which.md

# Measures what epochs and sparse fits cost and writes docs/stochastic.md.
stochastic: $(VENV)/.installed
	$(BIN)/python benchmarks/stochastic.py --write docs/stochastic.md

# Measures epochs and fits beside C loops, where a compiler is there, and writes docs/stochastic.md.
beside-c: $(VENV)/.installed
	$(BIN)/python benchmarks/beside_c.py --write docs/stochastic.md

# Measures what the other losses and the algorithms on pairs cost and writes docs/margin.md.
margin: $(VENV)/.installed
	$(BIN)/python benchmarks/margin.py --write docs/margin.md

# Measures what kernel features cost and writes docs/nystroem.md.
nystroem: $(VENV)/.installed
	$(BIN)/python benchmarks/nystroem.py --write docs/nystroem.md

# Measures readers, fits by blocks and their memory, and writes docs/files.md; takes about five minutes.
io: $(VENV)/.installed
	$(BIN)/python benchmarks/files.py --write docs/files.md

# Measures what benchmarks/results/papers lacks of the papers' tables and figures (all of it takes hours), and writes
# docs/papers. AUCMAX_DATA names the folder of the data sets; what is not there is downloaded.
papers: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[reproduce]'
	$(BIN)/aucmax reproduce --all --output benchmarks/results/papers --pages docs/papers

# Measures what benchmarks/results/peers.json lacks of other libraries beside ours, and writes docs/peers.md and README.md.
# All of it takes about two hours. LibAUC is large, so it is measured only if it is installed: pip install torch libauc.
peers: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[peers]'
	$(BIN)/python benchmarks/peers.py --write docs/peers.md --readme README.md

# Measures what benchmarks/results/tables.json lacks of additive models beside trees and EBM (all of it takes hours, most
# of them EBM's), and writes docs/tables.md.
tables: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[tables]'
	$(BIN)/python benchmarks/tables.py --write docs/tables.md

# Fits on a Dask cluster of two processes, for docs/scale.md.
scale: $(VENV)/.installed
	$(BIN)/python benchmarks/scale.py --write docs/scale.md

# Measures what benchmarks/results/scaling.json lacks of time and memory as data grow, and writes docs/scaling.md.
scaling: $(VENV)/.installed
	$(BIN)/python benchmarks/scaling.py --write docs/scaling.md

# Writes benchmarks/results/gpu.json into docs/scale.md; benchmarks/gpu.py tells how that is measured on a machine with a GPU.
gpu: $(VENV)/.installed
	$(BIN)/python benchmarks/gpu.py --write docs/scale.md

# Ten minutes of damaged files of rows and forged model files; goes on with the next seed, and writes docs/reliability.md.
fuzz: $(VENV)/.installed
	$(BIN)/python fuzz/run_fuzz.py --write docs/reliability.md

# Kills commands and disturbs them in other ways, up to 200 kills in all, and writes docs/reliability.md.
faults: $(VENV)/.installed
	$(BIN)/python fuzz/run_faults.py --write docs/reliability.md

# Builds the site in build/site, offline and with warnings as errors: the reference, the guide and the gallery, whose
# scripts are run. Then it checks all links, and that no page asks for anything from outside.
docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -j auto docs build/site
	$(BIN)/python docs/check_links.py build/site

# Writes below the code of the pages what it prints; the tests compare it.
printed: $(VENV)/.installed
	$(BIN)/python docs/printed.py docs/index.md docs/start.md docs/variants.md docs/guide/*.md

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# The newest versions that fit pyproject.toml, pinned.
constraints:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,docs]'
	echo "# The exact versions that CI and the Makefile install, with the extras dev and docs; 'make constraints' writes the newest." > constraints.txt
	$(BIN)/python -m pip freeze --exclude-editable >> constraints.txt
	touch $(VENV)/.installed

clean:
	rm -rf $(VENV) .venv-lowest .venv-wheel dist build docs/auto_examples docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis

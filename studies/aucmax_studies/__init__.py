"""The studies of aucmax: what is measured, by which command, and the papers' tables and figures measured again.

`python -m aucmax_studies` lists them. They read and write files of the checkout that they are in.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS_DIR = ROOT / "studies" / "results"

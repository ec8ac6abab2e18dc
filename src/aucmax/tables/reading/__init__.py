"""One reading of a table, for files, blocks, frames and model files: what each column is, and how it becomes numbers.

A column is summarised (`summary`), its kind is decided from the summary (`kinds`), and its cells (`cells`) then become
numbers and codes (`reading`), and features for linear models (`features`). Summaries merge, so a
table may come in blocks.
"""

from .kinds import Overrides
from .table import Reading

__all__ = ["Overrides", "Reading"]

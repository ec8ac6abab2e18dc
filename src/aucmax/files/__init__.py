"""Readers of files of rows: LIBSVM text and CSV (plain, or in gzip, bzip2 or xz), Parquet and ``.npz``.

Files are read by blocks, so that memory does not grow with the file. An error about a file is one sentence that gives
its name and the line or row.
"""

from .open_source import FORMATS, TABLES, Path, describe_paths, find_formats, list_files, open_source
from .source import Block, Source

__all__ = [
    "FORMATS",
    "TABLES",
    "Block",
    "Path",
    "Source",
    "describe_paths",
    "find_formats",
    "list_files",
    "open_source",
]

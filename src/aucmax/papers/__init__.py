"""The published algorithms, one file for each family.

`registry` lists them, `engine` is what the stochastic ones share. Importing this package imports no algorithm.
"""

from .registry import ALGORITHMS as ALGORITHMS
from .registry import PAPERS as PAPERS

"""LinearSVC: the squared hinge of single rows."""

from aucmax.papers.registry import powers, standardized

COMPETITOR = standardized("LinearSVC", "sklearn.svm:LinearSVC", {"C": powers(10, -6, 1)}, family="linear")

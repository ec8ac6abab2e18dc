"""The papers' pseudo-code in plain NumPy, one small file for each paper or family.

They are references for tests, written from the papers' texts and not from this library's code, so that a reader can
compare each function with the listing line for line. Where a listing is wrong, the function is the corrected form, and
its docstring says what was corrected. A method that the papers only cite follows its own paper, and the docstring says
so.

Conventions
-----------
X : dense float64 array of shape (n, d), used as it is: nothing is centred or scaled.
y : labels, -1 or +1.
order : row indices in the order of the visits, over all passes. Counters and running means go on from pass to pass.
Everything random is an argument: beside `order` these are `pairs`, `batches`, `blocks`, `slots` and `R`.
All iterates start at zero, unless the function has a parameter for the start.

A function returns an array with one row for each step: row t - 1 is the weights after t steps. A method whose result
is an average returns the averages, and the plain iterates with `averaged=False`.
"""

"""Names of array types in signatures."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]  # one dimension
Matrix = NDArray[np.float64]  # two dimensions
Index = NDArray[np.int64]  # numbers of samples, rows or variables

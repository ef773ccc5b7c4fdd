"""Solutions of the notebook 3_kernels_and_mercer.ipynb: the cells that take the place of its exercises."""


# %% Exercise 1
def phi(x):
    s = np.sqrt(2.0)
    return np.array([1.0, s * x[0], s * x[1], x[0] ** 2, x[1] ** 2, s * x[0] * x[1]])


# %% Exercise 2
def distance2(k, x, z):
    return k(x, x) + k(z, z) - 2.0 * k(x, z)


# %% Exercise 3
def smallest_eigenvalue(k, P):
    K = np.array([[k(p, q) for q in P] for p in P])
    return np.linalg.eigvalsh(K)[0]


# %% Exercise 4
answers = {
    "k + l": True,
    "k - l": False,
    "k * l": True,
    "exp(k)": True,  # a series of powers with positive coefficients
    "-k": False,
    "k / sqrt(k(x,x) k(z,z))": True,  # f(x) k(x, z) f(z)
}


# %% Exercise 5
def intersection(A, B):
    return np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2)

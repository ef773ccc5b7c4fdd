"""Solutions of the notebook 4_smo_step_by_step.ipynb: the cells that take the place of its exercises."""


# %% Exercise 1
def ends(alpha_1, alpha_2, y_1, y_2):
    if y_1 != y_2:
        return max(0.0, alpha_2 - alpha_1), min(C, C + alpha_2 - alpha_1)
    return max(0.0, alpha_2 + alpha_1 - C), min(C, alpha_2 + alpha_1)


# %% Exercise 2
def move(alpha_1, alpha_2, y_1, y_2, E_1, E_2, eta):
    low, high = ends(alpha_1, alpha_2, y_1, y_2)
    new_2 = min(max(alpha_2 + y_2 * (E_1 - E_2) / eta, low), high)
    return alpha_1 + y_1 * y_2 * (alpha_2 - new_2), new_2


# %% Exercise 3
alpha = np.zeros(len(y))
own = []  # a copy of alpha after each step
for step in made[:50]:
    i2, i1 = step.first, step.second
    E = K @ (alpha * y) - y
    eta = K[i1, i1] + K[i2, i2] - 2.0 * K[i1, i2]
    alpha[i1], alpha[i2] = move(alpha[i1], alpha[i2], y[i1], y[i2], E[i1], E[i2], eta)
    own.append(alpha.copy())


# %% Exercise 4
def violates(alpha_i, y_i, E_i, tol=1e-3):
    return (alpha_i < C and y_i * E_i < -tol) or (alpha_i > 0.0 and y_i * E_i > tol)


# %% Exercise 5
def smo(seed=0):
    rng = np.random.default_rng(seed)
    alpha, b, quiet = np.zeros(len(y)), 0.0, 0
    while quiet < 20:
        changed = 0
        for i in range(len(y)):
            E = K @ (alpha * y) + b - y
            if not violates(alpha[i], y[i], E[i]):
                continue
            j = (i + rng.integers(1, len(y))) % len(y)
            eta = K[i, i] + K[j, j] - 2.0 * K[i, j]
            new_i, new_j = move(alpha[i], alpha[j], y[i], y[j], E[i], E[j], eta)
            if abs(new_j - alpha[j]) < 1e-7:
                continue
            alpha[i], alpha[j] = new_i, new_j
            E = K @ (alpha * y) + b - y
            inside = [k for k in (i, j) if 0.0 < alpha[k] < C]
            b -= E[inside[0]] if inside else 0.5 * (E[i] + E[j])
            changed += 1
        quiet = 0 if changed else quiet + 1
    return alpha, b

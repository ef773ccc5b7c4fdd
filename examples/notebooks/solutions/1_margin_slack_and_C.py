"""Solutions of the notebook 1_margin_slack_and_C.ipynb: the cells that take the place of its exercises."""

# %% Exercise 1
w, b = hard.coef_[0], hard.intercept_[0]
geometric = y * (X @ w + b) / np.linalg.norm(w)

# %% Exercise 2
functional = y * hard.decision_function(X)
on_the_edge = np.flatnonzero(np.abs(functional - 1.0) < 0.01)


# %% Exercise 3
def primal(w, b, C):
    slack = np.maximum(0.0, 1.0 - t * (Z @ w + b))
    return 0.5 * w @ w + C * slack.sum()


# %% Exercise 4
Cs = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
widths, slacks = [], []
for C in Cs:
    machine = widemargin.SVC(kernel="linear", C=C).fit(Z, t)
    widths.append(2.0 / np.linalg.norm(machine.coef_))
    slacks.append(np.maximum(0.0, 1.0 - t * machine.decision_function(Z)).sum())

# %% Exercise 5
f = t * soft.decision_function(Z)
outside = f > 1.01
inside = f < 0.99
wrong = f < 0.0

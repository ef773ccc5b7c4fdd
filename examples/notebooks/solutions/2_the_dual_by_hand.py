"""Solutions of the notebook 2_the_dual_by_hand.ipynb: the cells that take the place of its exercises."""

# %% Exercise 1
K = [[sum(p * q for p, q in zip(X[i], X[j])) for j in range(n)] for i in range(n)]


# %% Exercise 2
def W(alpha):
    quadratic = sum(alpha[i] * alpha[j] * y[i] * y[j] * K[i][j] for i in range(n) for j in range(n))
    return sum(alpha) - F(1, 2) * quadratic


# %% Exercise 3
a = F(1, 4)
w = [sum(alpha * label * x[k] for alpha, label, x in zip([a, 0, a, 0], y, X)) for k in range(2)]


# %% Exercise 4
def violators(alpha, w, b, C):
    found = []
    for i in range(n):
        value = y[i] * (w[0] * X[i][0] + w[1] * X[i][1] + b)
        if (alpha[i] < C and value < 1) or (alpha[i] > 0 and value > 1):
            found.append(i)
    return found


# %% Exercise 5
c = F(1, 25)  # w = (2/10 + 4 c, 2/10 + 2 c), and 2 w_1 + w_2 = 6/10 + 10 c = 1
small_w = [F(2, 10) + 4 * c, F(2, 10) + 2 * c]

# %% Exercise 6
slacks = [max(F(0), 1 - y[i] * (small_w[0] * X[i][0] + small_w[1] * X[i][1])) for i in range(n)]
primal = F(1, 2) * sum(part**2 for part in small_w) + F(1, 10) * sum(slacks)

"""The SVM toy: points, machines and solvers to play with, in browsers and notebooks.

front/       the front-end: JavaScript modules, one idea each, with an exact solver for up to 300 points and solvers
             that can be watched step by step; it needs no network, no build step and no other package
page.py      all modules in one HTML page or one module for notebooks
server.py    the page on 127.0.0.1, for `widemargin toy`
points.py    points and parameters from Python's data, and the estimators they stand for
notebook.py  the page as a widget, for `widemargin.toy`

`python -m widemargin.playground toy.html` writes the page as a file.
"""

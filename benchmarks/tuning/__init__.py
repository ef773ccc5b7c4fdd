"""Searching C and gamma beside the peers: whole grids, TorchKM's workload, SVCCV against a full grid, memory.

    python -m benchmarks.tuning --data FOLDER [--only NAME ...] [--quick] [--out FILE.json] [--torchkm PYTHON]
    python -m benchmarks.tuning --out FILE.json --page docs/tuning-benchmarks.md

search       what is searched: estimator, grid, folds    searchers   who searches, and how each is called
sets         data, scaling, halves                       mixture     TorchKM's generator, bandwidth and folds
worker       one process per searcher                    rounds      searchers in turn, medians, agreement of scores
grids        jobs: grid, covtype, svr, letter            torchkm_workload  jobs: mixture, files, torchkm
choosing     jobs: svccv                                 memory      jobs: memory
objective    primal objective, in plain NumPy            in_torch    run by the Python that has TorchKM
bench        the run: settings, results so far           targets     what the figures must reach
report       Markdown
"""

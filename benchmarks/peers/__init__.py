"""Exact training beside scikit-learn, scikit-learn-intelex, LIBSVM, ThunderSVM and Snap ML, every answer checked.

    python -m benchmarks.peers --data FOLDER [--only NAME ...] [--quick] [--out DIR] [--repeat N]

problems     what is trained: one table           datasets     how data are read and scaled
libraries    how each library is called           worker       one process per library, driven through a pipe
driver       starts workers, ends those that hang  checker      objective and KKT violation, recomputed from scratch
comparison   one problem, libraries in turn        floors       what the figures must reach
ratios       whose time counts                     tuning       thread settings that suit each peer
report       Markdown and JSON                     picture      ratios per problem, time against n
small, prediction, growth (memory, scaling, threads): the other measurements.
"""

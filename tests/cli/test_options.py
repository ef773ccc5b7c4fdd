"""Options: LIBSVM's letters and the words beside them mean the same machines; wrong values are usage errors."""

from types import SimpleNamespace

import numpy as np
import pytest

import widemargin
from widemargin.cli.cv import command as cv_command
from widemargin.cli.machines import make_machine, set_class_weight
from widemargin.cli.main import COMMANDS, main
from widemargin.cli.train import command


def options(*arguments):
    return SimpleNamespace(**command.make_context("train", ["x", *arguments]).params)


def parsed(*arguments):
    return make_machine(options(*arguments))


@pytest.mark.parametrize("number, name", list(enumerate(["SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR"])))
def test_machines_have_the_numbers_of_libsvm(number, name):
    assert type(parsed("-s", str(number))) is getattr(widemargin, name)


@pytest.mark.parametrize("number, name", list(enumerate(["linear", "poly", "rbf", "sigmoid", "precomputed"])))
def test_kernels_have_the_numbers_of_libsvm(number, name):
    assert parsed("-t", str(number)).kernel == parsed("--kernel", name).kernel == name


def test_letters_and_words_mean_the_same():
    letters = parsed(
        *("-s", "0", "-t", "1", "-c", "2", "-g", "0.5", "-d", "4", "-r", "-1", "-e", "0.01", "-m", "50"),
        *("-b", "1", "-h", "0"),
    )
    words = parsed(
        *("--machine", "svc", "--kernel", "poly", "--C", "2", "--gamma", "0.5", "--degree", "4"),
        *("--coef0", "-1", "--tol", "0.01", "--cache", "50", "--probability", "1", "--shrinking", "0"),
    )
    assert letters.get_params() == words.get_params()
    assert (letters.C, letters.gamma, letters.degree, letters.coef0, letters.tol) == (2.0, 0.5, 4, -1.0, 0.01)
    assert (letters.cache_size, letters.probability, letters.shrinking) == (50.0, True, False)


def test_defaults_are_those_of_svm_train():
    machine = parsed()
    assert (machine.C, machine.kernel, machine.gamma, machine.degree, machine.tol) == (1.0, "rbf", "auto", 3, 1e-3)
    assert parsed("-s", "svr").epsilon == 0.1
    assert parsed("-s", "nusvc").nu == 0.5
    assert options().folds is None


def test_more_than_libsvm_has():
    machine = parsed("--loss", "quadratic", "--stopping", "gap", "--time-limit", "5", "-j", "2", "-c", "inf")
    assert (machine.loss, machine.stopping, machine.time_limit) == ("squared_hinge", "gap", 5.0)
    assert (machine.n_jobs, machine.C) == (2, np.inf)


@pytest.mark.parametrize(
    "arguments", [["-w1", "5", "-w-1", "2"], ["-w", "1", "5", "--weight", "-1", "2"], ["-w+1", "5", "-w-1.0", "2"]]
)
def test_class_weights_glued_or_apart(arguments):
    machine = parsed(*arguments)
    set_class_weight(machine, options(*arguments).weight, [-1, 1])
    assert machine.class_weight == {1: 5.0, -1: 2.0}


def test_class_weights_of_classes_with_names():
    machine = parsed()
    set_class_weight(machine, options("-w", "spam", "3").weight, ["ham", "spam"])
    assert machine.class_weight == {"spam": 3.0}
    with pytest.raises(ValueError, match="no class is called eggs; there are ham, spam"):
        set_class_weight(machine, options("-w", "eggs", "3").weight, ["ham", "spam"])


def test_grids_are_powers_of_two_with_both_ends():
    given = cv_command.make_context("cv", ["x", "--log2c", "-1,2,1.5", "--log2g", "3,-3,-3"]).params
    assert given["log2c"] == [0.5, 2**0.5, 4.0]
    assert given["log2g"] == [8.0, 1.0, 0.125]
    default = cv_command.make_context("cv", ["x"]).params
    assert (default["log2c"][0], default["log2c"][-1]) == (2.0**-5, 2.0**15)
    assert (default["folds"], default["seed"]) == (5, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "x", "-t", "9"], "'9' is unknown, expected 0 linear, 1 poly"),
        (["train", "x", "-s", "svm"], "'svm' is unknown, expected 0 svc"),
        (["train", "x", "-c", "-1"], "-1 is too small, expected a number above 0"),
        (["train", "x", "-c", "nan"], "'nan' is not a number"),
        (["train", "x", "-g", "big"], "'big' is not a number, expected a number or auto or scale"),
        (["train", "x", "-d", "1.5"], "'1.5' is not a whole number"),
        (["train", "x", "-v", "1"], "1 is too small, expected at least 2"),
        (["train"], "Missing argument"),
        (["tain", "x"], "No command is called 'tain'; did you mean 'train'?"),
        (["xyz"], "No command is called 'xyz'; there are train, predict"),
        (["cv", "x", "--log2c", "1,2"], "'1,2' is not a range, expected begin,end,step"),
        (["cv", "x", "--log2c", "1,2,-1"], "'1,2,-1' has 0 values"),
        (["cv", "x", "--log2c", "1,2,0"], "'1,2,0' is not a range"),
    ],
)
def test_wrong_options_are_usage_errors(arguments, message, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.startswith("widemargin: ")


@pytest.mark.parametrize("arguments", [["-h"], ["train", "-h"], ["train", "x", "-c", "10", "-h"], ["scale", "-h"]])
def test_h_without_a_value_shows_help(arguments, capsys):
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("Usage: widemargin")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_examples_and_exit_codes(name, capsys):
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"widemargin {name}" in said.split("Examples:")[1]
    assert "1    done, but the certificate does not hold" in said


def test_help_lists_all_commands(capsys):
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"\n  {name} " in said and line in said for name, (_, line) in COMMANDS.items())
    assert main([]) == 2
    assert main(["--version"]) == 0
    assert widemargin.__version__ in capsys.readouterr().out

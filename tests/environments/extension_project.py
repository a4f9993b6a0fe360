"""A package with a real C extension in a repository of its own: revisions that do not run unless they are built."""

from __future__ import annotations

from pathlib import Path

from tests.repositories import git

# setuptools is what this interpreter has: nothing is fetched.
INSTALL = "pip install --no-build-isolation --no-deps --quiet ."
SETUP = """\
from setuptools import Extension, setup

setup(name="stones", version="1.0", packages=["stones"], ext_modules=[Extension("stones._core", ["stones/_core.c"])])
"""
CORE = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *pile(PyObject *self, PyObject *number) {
    long n = PyLong_AsLong(number);
    double sum = 0.0;
    for (long i = 0; i < n * WORK; i++) sum += (double)(i % 7);
    return PyFloat_FromDouble(sum / WORK);
}

static PyMethodDef methods[] = {{"pile", pile, METH_O, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_core", "", -1, methods};
PyMODINIT_FUNC PyInit__core(void) { return PyModule_Create(&module); }
"""


def make_project(folder: Path) -> Path:
    """Write the repository: in its last commit, the extension does ten times the work of the commit before."""
    (folder / "stones").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "setup.py").write_text(SETUP)
    (folder / "stones" / "__init__.py").write_text("from stones._core import pile\n")
    (folder / "tests" / "test_speed.py").write_text(
        # Where the tests are collected, nothing is built.
        "def test_pile(photometer):\n    from stones import pile\n\n    assert photometer(pile, 1000) > 0\n\n\n"
        "def test_again(photometer):\n    from stones import pile\n\n    assert photometer(pile, 2000) > 0\n"
    )
    (folder / "stones" / "_core.c").write_text("#define WORK 1\n" + CORE)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    (folder / "stones" / "_core.c").write_text("#define WORK 10\n" + CORE)
    git(folder, "commit", "-qam", "ten times the work")
    return folder

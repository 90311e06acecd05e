"""Compiles some modules, where that is possible; pyproject.toml says everything else."""

import os
import runpy
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

COMPILED = runpy.run_path(str(Path(__file__).parent / "rdfaspider" / "compiled.py"))
# Those that build for this system; an egg is for all of them.
COMMANDS = {"bdist_wheel", "build", "build_ext", "editable_wheel", "install"}


def say(line: str) -> None:
    """Print a line on the terminal, because pip shows nothing of what a build prints."""
    try:
        with Path("/dev/tty").open("w", encoding="utf-8") as terminal:
            print(line, file=terminal)
    except OSError:
        print(line, file=sys.stderr, flush=True)


def extensions() -> list[Extension]:
    """Return what is to be compiled of the modules named there; nothing if that is not possible."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if COMPILED["is_pure"]() or not COMMANDS.intersection(sys.argv):
        return []
    if sys.implementation.name != "cpython" or shutil.which(compiler) is None:
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:
        return []
    if "build_ext" not in sys.argv:
        say("Compiling the busiest modules: a minute or two. RDFASPIDER_PURE=1 does without.")
    sources = [os.path.relpath(COMPILED["source"](name)) for name in COMPILED["MODULES"]]
    # The same is made wherever it is built: nothing depends on the configuration, or on what is installed.
    options = ["--config-file=", "--no-site-packages", "--ignore-missing-imports"]
    try:
        made = mypycify(
            [*options, "--follow-imports=silent", *sources],
            group_name="rdfaspider.compiled",
            opt_level="2",
            debug_level="0",
        )
    except SystemExit as error:  # another mypy may see errors that ours does not
        print(f"The modules are not compiled: {error}", file=sys.stderr)
        return []
    for extension in made:
        # The compiler may fail, for example without the headers of Python.
        extension.optional = True
    return made


setup(ext_modules=extensions())

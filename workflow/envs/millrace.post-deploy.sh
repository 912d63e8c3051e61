# Run by Snakemake inside the new environment, from the root of the repository.
set -eu
python -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
python -m pip install --disable-pip-version-check --no-deps --no-build-isolation --editable .

"""The beginning of the line: Spark makes a dataset, or recorded files are brought into its form.

Each of these jobs uses every core and much memory: more than half of the machine, so one at a time.
"""


rule generate:
    input:
        sources=sources("datasets.generate"),
    output:
        folder=directory(f"results/data/{PROFILE.name}/{{dataset}}"),
    log:
        f"results/logs/{PROFILE.name}/generate-{{dataset}}.log",
    conda:
        "../envs/millrace.yaml"
    resources:
        machine=60,
    params:
        rows=lambda wildcards: PROFILE.rows[wildcards.dataset],
    message:
        "Generating {wildcards.dataset}, {params.rows} rows, with Spark"
    script:
        "../scripts/generate.py"


if MAPPING:

    rule import_recorded:
        input:
            mapping=config["data"],
            # An archive counts as one file.
            files=sorted({str(source.path) for source in RECORDED}),
            sources=sources("datasets.imported"),
        output:
            folder=directory(f"results/data/recorded/{MAPPING.name}"),
        log:
            f"results/logs/{LABEL}/import.log",
        conda:
            "../envs/millrace.yaml"
        resources:
            machine=60,
        message:
            "Importing recorded {MAPPING.role} by {input.mapping}"
        script:
            "../scripts/import_recorded.py"

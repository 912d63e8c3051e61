"""The first step: Spark generates a dataset, or recorded files are imported as one.

Starting Spark takes most of the time: the first job makes the datasets of all others, too, which
wait and take theirs (datasets/ahead.py). Importing recorded data takes all cores.
"""


rule generate:
    output:
        folder=directory(f"results/data/{PROFILE.size}/{{dataset}}"),
    log:
        f"results/logs/{PROFILE.size}/generate-{{dataset}}.log",
    # First of all.
    priority: 20
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        machine=45,
        mem_mb=4000,
    params:
        rows=lambda wildcards: catalog.dataset(wildcards.dataset).rows_of(PROFILE.size),
        seed=SEED,
        sources=lambda wildcards: sources(
            "datasets.ahead", "datasets.generate", f"datasets.{wildcards.dataset}.generate"
        ),
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
        output:
            folder=directory(f"results/data/recorded/{MAPPING.name}"),
        log:
            f"results/logs/{LABEL}/import.log",
        conda:
            "../envs/millrace.yaml"
        threads: 2
        resources:
            machine=60,
            mem_mb=4000,
        params:
            sources=sources(*recorded.modules_of(MAPPING.role)),
        message:
            "Importing recorded {MAPPING.role} by {input.mapping}"
        script:
            "../scripts/import_recorded.py"

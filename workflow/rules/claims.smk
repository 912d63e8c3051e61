"""What the papers say against what was measured."""


rule claims:
    input:
        raw=all_raw_files(),
        published=[f"experiments/{paper}/published.yaml" for paper in PAPERS],
        sources=sources("experiments.judging.claims"),
    output:
        verdicts="results/claims.json",
    log:
        f"results/logs/{LABEL}/claims.log",
    conda:
        "../envs/millrace.yaml"
    message:
        "Judging the published statements"
    script:
        "../scripts/judge.py"

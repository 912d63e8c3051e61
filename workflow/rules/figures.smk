"""One figure a job, from its raw rows and the verdicts on what it shows."""


rule figure:
    input:
        raw=lambda wildcards: raw_files(wildcards.paper, wildcards.figure),
        claims=rules.claims.output.verdicts,
        sources=figure_sources,
    output:
        multiext("results/figures/{paper}/{figure}", ".pdf", ".svg", ".png", ".csv"),
    log:
        "results/logs/figures/{paper}-{figure}.log",
    conda:
        "../envs/millrace.yaml"
    message:
        "Drawing {wildcards.figure} of {wildcards.paper}"
    script:
        "../scripts/draw.py"

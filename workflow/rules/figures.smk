"""One figure a job, in both its forms, from its raw rows and the verdicts on what it shows."""


rule figure:
    input:
        raw=lambda wildcards: raw_files(wildcards.paper, wildcards.figure),
        claims=rules.claims.output.verdicts,
        sources=figure_sources,
    output:
        multiext("results/figures/{paper}/{figure}", ".pdf", ".svg", ".png", ".csv"),
        multiext("results/figures/{paper}/{figure}_extended", ".pdf", ".svg", ".png", ".csv"),
    log:
        "results/logs/figures/{paper}-{figure}.log",
    wildcard_constraints:
        figure=r"fig_\d+",
    conda:
        "../envs/millrace.yaml"
    message:
        "Drawing {wildcards.figure} of {wildcards.paper}"
    script:
        "../scripts/draw.py"

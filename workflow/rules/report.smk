"""The end of the line: one page with each figure beside its statements and verdicts."""


rule report:
    input:
        figures=drawn_figures(),
        claims=rules.claims.output.verdicts,
        sources=sources("figures.report"),
    output:
        page="results/report.html",
    log:
        "results/logs/report.log",
    conda:
        "../envs/millrace.yaml"
    message:
        "Writing the report"
    script:
        "../scripts/report.py"

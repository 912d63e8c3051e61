"""The end of the line: a page of this run, and the front page that leads to those of every run."""


rule report:
    input:
        figures=drawn_figures(),
        claims=expand(rules.claims.output.verdicts, paper=PAPERS),
    output:
        page=f"{SET}/report.html",
    log:
        f"results/logs/{LABEL}/report.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        folder=lambda wildcards, output: str(Path(output.page).parent),
        sources=sources(*modules_of("figures")),
    message:
        "Writing the report"
    script:
        "../scripts/report.py"


rule gallery:
    input:
        figures=drawn_figures(),
        claims=expand(rules.claims.output.verdicts, paper=PAPERS),
    output:
        page=f"{SET}/figures/index.html",
    log:
        f"results/logs/{LABEL}/gallery.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        mem_mb=500,
    params:
        folder=lambda wildcards, output: str(Path(output.page).parents[1]),
        sources=sources("figures.gallery"),
    message:
        "Writing the gallery"
    script:
        "../scripts/gallery.py"


rule front:
    input:
        page=rules.report.output.page,
        gallery=rules.gallery.output.page,
    output:
        page="results/report.html",
    log:
        "results/logs/front.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        # Another run has written it for the results it made.
        label=LABEL,
    message:
        "Writing the front page"
    script:
        "../scripts/front.py"

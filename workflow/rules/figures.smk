"""One figure a job, in both its forms, from its raw rows and the verdicts on what it shows."""


rule figure:
    input:
        raw=lambda wildcards: raw_of_figure(wildcards.paper, id_of(wildcards.stem)),
        claims=rules.claims.output.verdicts,
    output:
        report(
            f"{SET}/figures/{{paper}}/{{stem}}.svg",
            category="{paper}",
            labels={"figure": "{stem}", "form": "the paper's"},
        ),
        multiext(f"{SET}/figures/{{paper}}/{{stem}}", ".pdf", ".png", ".csv"),
        report(
            f"{SET}/figures/{{paper}}/{{stem}}_extended.svg",
            category="{paper}",
            labels={"figure": "{stem}", "form": "extended"},
        ),
        multiext(f"{SET}/figures/{{paper}}/{{stem}}_extended", ".pdf", ".png", ".csv"),
    log:
        f"results/logs/{LABEL}/figures/{{paper}}-{{stem}}.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        folder=lambda wildcards: f"{SET}/figures/{wildcards.paper}",
        figure=lambda wildcards: id_of(wildcards.stem),
        declared=lambda wildcards: declared(wildcards.paper, id_of(wildcards.stem)),
        sources=lambda wildcards: drawing_sources(wildcards.paper, id_of(wildcards.stem)),
    message:
        "Drawing {wildcards.stem} of {wildcards.paper}"
    script:
        "../scripts/draw.py"

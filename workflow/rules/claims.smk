"""What a paper says against what was measured: a file of verdicts a paper."""


rule claims:
    input:
        raw=lambda wildcards: raw_of_paper(wildcards.paper),
        published=lambda wildcards: papers.published_file(wildcards.paper),
    output:
        verdicts=f"{SET}/claims/{{paper}}.json",
    log:
        f"results/logs/{LABEL}/claims-{{paper}}.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        sources=lambda wildcards: sources(
            "experiments.judging.claims", *found_by_name(wildcards.paper)
        ),
    message:
        "Judging the published statements of {wildcards.paper}"
    script:
        "../scripts/judge.py"

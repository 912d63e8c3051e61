"""A paper's statements compared with the measured results: a file of verdicts a paper."""


rule claims:
    input:
        raw=lambda wildcards: raw_of_paper(wildcards.paper),
        # The noise floors are computed from the equal runs of the whole machine.
        machine=machine_raw_files(),
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

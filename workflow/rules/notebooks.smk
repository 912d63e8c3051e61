"""A notebook a paper, stored without outputs, run on the results at hand."""


rule notebook:
    input:
        notebook=lambda wildcards: NOTEBOOKS[wildcards.paper],
        raw=lambda wildcards: raw_of_paper(wildcards.paper),
        claims=rules.claims.output.verdicts,
    output:
        executed=f"{SET}/notebooks/{{paper}}.ipynb",
        page=f"{SET}/notebooks/{{paper}}.html",
    log:
        f"results/logs/{LABEL}/notebooks/{{paper}}.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        # One of them starts a cluster of Spark.
        mem_mb=4000,
    params:
        label=LABEL,
        sources=lambda wildcards: sources(*modules_of("figures", f"experiments.{wildcards.paper}")),
    message:
        "Running the notebook of {wildcards.paper}"
    script:
        "../scripts/execute.py"

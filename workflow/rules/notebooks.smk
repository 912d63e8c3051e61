"""A notebook a paper, stored without outputs, run on the results at hand."""


rule notebook:
    input:
        notebook="notebooks/{paper}.ipynb",
        raw=all_raw_files(),
        claims=rules.claims.output.verdicts,
        sources=sources("figures", "experiments.multiway_aggregation.live"),
    output:
        executed="results/notebooks/{paper}.ipynb",
    log:
        "results/logs/notebooks/{paper}.log",
    conda:
        "../envs/millrace.yaml"
    message:
        "Running the notebook of {wildcards.paper}"
    script:
        "../scripts/execute.py"

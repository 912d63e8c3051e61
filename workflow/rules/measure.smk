"""The timed part: a fresh process for each figure and repetition, and the proof that none overlap."""

if MEASURING:

    rule measure:
        input:
            datasets=dataset_of,
            profile=f"workflow/config/{PROFILE.name}.yaml",
            sources=sources("experiments.timing.runner", "operators"),
        output:
            rows=f"results/raw/{LABEL}/{{paper}}/{{figure}}/repetition-{{repetition}}.jsonl",
        log:
            f"results/logs/{LABEL}/{{paper}}/{{figure}}-{{repetition}}.log",
        conda:
            "../envs/millrace.yaml"
        resources:
            machine=100,
        message:
            "Measuring {wildcards.figure} of {wildcards.paper}, repetition {wildcards.repetition} of"
            " {PROFILE.repetitions}, profile {PROFILE.name}; {time_left}"
        script:
            "../scripts/measure.py"


rule audit:
    input:
        raw=all_raw_files(),
        sources=sources("experiments.records.audit"),
    output:
        verdict="results/audit.json",
    log:
        f"results/logs/{LABEL}/audit.log",
    conda:
        "../envs/millrace.yaml"
    message:
        "Checking that no two timed runs overlapped"
    script:
        "../scripts/audit.py"

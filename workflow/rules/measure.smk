"""The timed part: a fresh process for each group and repetition, and the proof that none overlap.

The key in a path is a hash of all that the results depend on. So after a change exactly the
affected groups are measured again, and earlier results are neither mixed in nor deleted.
"""

if MEASURING:

    # Before anything is timed: a timed process has the machine for itself and would compile on one
    # core.
    COMPILED = [f"{SET}/kernels/{name}-{key}" for name, key in KEYS.items()]

    rule kernels:
        input:
            datasets=ancient_once_made(sorted({*data_of_groups().values()}), COMPILED),
        output:
            [touch(each) for each in COMPILED],
        log:
            f"results/logs/{LABEL}/kernels.log",
        conda:
            "../envs/millrace.yaml"
        threads: 64
        resources:
            mem_mb=4000,
        params:
            groups=list(GROUPS),
            datasets=data_of_groups(),
        message:
            "Compiling the kernels of {PROFILE.name} on {threads} cores"
        script:
            "../scripts/kernels.py"

    rule measure:
        input:
            # The key contains the data's identity; the date of the files does not matter.
            dataset=lambda wildcards: ancient_once_made(
                dataset_of(GROUPS[wildcards.group].role), [raw_file(**wildcards)]
            ),
            kernels=lambda wildcards: ancient_once_made(
                f"{SET}/kernels/{wildcards.group}-{wildcards.key}", [raw_file(**wildcards)]
            ),
        output:
            rows=raw_file("{group}", "{key}", "{repetition}"),
        log:
            f"results/logs/{LABEL}/{{group}}-{{key}}-{{repetition}}.log",
        conda:
            "../envs/millrace.yaml"
        threads: 1
        resources:
            machine=100,
            mem_mb=4000,
        message:
            "Measuring {wildcards.group}, repetition {wildcards.repetition} of"
            " {PROFILE.repetitions}, profile {PROFILE.name}; {time_left}"
        script:
            "../scripts/measure.py"


rule audit:
    input:
        raw=all_raw_files(),
    output:
        verdict=f"{SET}/audit.json",
    log:
        f"results/logs/{LABEL}/audit.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        sources=sources("experiments.records.audit"),
    message:
        "Checking that no two timed runs overlapped"
    script:
        "../scripts/audit.py"

"""The figures of a paper, each in all forms, in two jobs: each job reads the results once."""

for paper in PAPERS:
    for part in range(PARTS):

        rule:
            name:
                f"figures_{paper}_{part + 1}"
            input:
                raw=lambda wildcards, paper=paper: raw_of_paper(paper),
                claims=f"{SET}/claims/{paper}.json",
            output:
                [
                    report(
                        f"{SET}/figures/{paper}/{stem_of(each)}{form}.svg",
                        category=paper,
                        labels={"figure": each, "form": "extended" if form else "the paper's"},
                    )
                    for each in part_of(paper, part)
                    for form in files.forms_of(papers.figure(paper, each))
                ],
                [
                    f"{SET}/figures/{paper}/{stem_of(each)}{form}.{kind}"
                    for each in part_of(paper, part)
                    for form in files.forms_of(papers.figure(paper, each))
                    for kind in files.KINDS
                    if kind != "svg"
                ],
            log:
                f"results/logs/{LABEL}/figures/{paper}-{part + 1}.log",
            conda:
                "../envs/millrace.yaml"
            threads: 1
            resources:
                mem_mb=1500,
            params:
                paper=paper,
                figures=part_of(paper, part),
                folder=lambda wildcards, output: str(Path(output[0]).parent),
                declared=[declared(paper, each) for each in part_of(paper, part)],
                sources=[drawing_sources(paper, each) for each in part_of(paper, part)],
            message:
                f"Drawing the figures of {paper}, part {part + 1} of {PARTS}"
            script:
                "../scripts/draw.py"


rule forest:
    input:
        claims=rules.claims.output.verdicts,
    output:
        report(
            f"{SET}/figures/{{paper}}/{files.FOREST}.svg",
            category="{paper}",
            labels={"figure": "findings", "form": "forest plot"},
        ),
        [f"{SET}/figures/{{paper}}/{files.FOREST}.{kind}" for kind in files.KINDS if kind != "svg"],
    log:
        f"results/logs/{LABEL}/figures/{{paper}}-forest.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        mem_mb=1000,
    params:
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        sources=sources("figures.forest"),
    message:
        "Drawing the findings of {wildcards.paper}"
    script:
        "../scripts/forest.py"

"""The figures of a paper, each in both its forms, in two jobs: each reads the results once."""

# As many as two cores draw at a time; a job's start takes longer than a figure.
PARTS = 2


def part_of(paper, part):
    """Return the ids of the figures that one of the jobs draws."""
    shown = [each.id for each in papers.paper(paper).figures if raw_of_figure(paper, each.id)]
    return shown[part::PARTS]


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
                    for form in FORMS
                ],
                [
                    f"{SET}/figures/{paper}/{stem_of(each)}{form}.{kind}"
                    for each in part_of(paper, part)
                    for form in FORMS
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

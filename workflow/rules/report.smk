"""The pages: one a paper, the front page of this run, the gallery, and the page of every run."""


rule page:
    input:
        figures=lambda wildcards: figures_of_paper(wildcards.paper),
        forest=rules.forest.output,
        peers=lambda wildcards: peers_figure(wildcards.paper),
        claims=rules.claims.output.verdicts,
        raw=lambda wildcards: raw_of_paper(wildcards.paper),
        fidelity=lambda wildcards: [
            each for each in [papers.fidelity_file(wildcards.paper)] if each.is_file()
        ],
    output:
        page=f"{SET}/{{paper}}.html",
    log:
        f"results/logs/{LABEL}/page-{{paper}}.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        mem_mb=1500,
    params:
        folder=lambda wildcards, output: str(Path(output.page).parent),
        notebook=lambda wildcards: notebook_of(wildcards.paper),
        peers=lambda wildcards: wildcards.paper in PEERED,
        sources=sources(*modules_of("figures")),
    message:
        "Writing the page of {wildcards.paper}"
    script:
        "../scripts/page.py"


rule report:
    input:
        claims=expand(rules.claims.output.verdicts, paper=PAPERS),
        pages=expand(rules.page.output.page, paper=PAPERS),
    output:
        page=f"{SET}/report.html",
        answers=f"{SET}/{files.ANSWERS}",
        machine=[f"{SET}/figures/{files.MACHINE}.{kind}" for kind in files.KINDS],
    log:
        f"results/logs/{LABEL}/report.log",
    conda:
        "../envs/millrace.yaml"
    threads: 1
    resources:
        mem_mb=1500,
    params:
        folder=lambda wildcards, output: str(Path(output.page).parent),
        sources=sources(*modules_of("figures")),
    message:
        "Writing the front page of {LABEL}"
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
        # A page that another run has written is for that run's results.
        label=LABEL,
    message:
        "Writing the front page"
    script:
        "../scripts/front.py"

"""The whole line, from Spark data to figures: `snakemake --cores all` does what `make figures` does."""


include: "workflow/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
    message:
        "Everything is made"

"""What users would take instead of the operators: measured beside them where a run names peers."""

if PEERS:
    from experiments.peers import measure as peers_measure


def compared(paper):
    """Return what a paper compares with the peers of this run; empty where it names none."""
    return peers_catalog.compared_with(paper, PEERS)


def peers_files(paper):
    """Return the rows of a paper's peers, a file a repetition; without measuring, the last ones."""
    folder = Path(SET, "peers", paper)
    if MEASURING:
        key = peers_measure.key_of(paper, PROFILE, PEERS, identity_of)
        numbers = range(1, PROFILE.repetitions + 1)
        return [f"{folder}/{key}/repetition-{n}.jsonl" for n in numbers]
    return list(map(str, sets.latest(folder.glob("*/repetition-*.jsonl"))))


def peers_data(paper):
    """Return the folder of the data of each role that a paper's comparisons run on."""
    roles = {peers_measure.role_of(each, PROFILE.size) for each, _ in compared(paper)}
    return {role: dataset_of(role) for role in sorted(roles - {None})}


# Papers with a figure of peers in this run: what was measured is drawn whether it is named or not.
PEERED = [paper for paper in PAPERS if (compared(paper) if PEERS else not MEASURING)]
PEERS_FILES = {paper: peers_files(paper) for paper in PEERED}
PEERED = [paper for paper in PEERED if PEERS_FILES[paper]]
if PEERS and not PEERED:
    named, there = ", ".join(each.id for each in PEERS), ", ".join(PAPERS)
    with plain_errors():
        if PEERS_FILES:
            raise UsageError(
                f"no rows of peers in {SET}/peers for {there}: run make figures with PEERS first"
            )
        having = [each for each in papers.paper_names() if compared(each)]
        raise UsageError(
            f"{there} has nothing to compare with {named}; leave PEERS out, or take one of:"
            f" {', '.join(having)}"
        )


def peers_figure(paper):
    """Return the files of a paper's figure of peers; empty where this run has none."""
    if paper not in PEERED:
        return []
    return [f"{SET}/figures/{paper}/{files.PEERS}.{kind}" for kind in files.KINDS]


for paper in PEERED if MEASURING else ():

    rule:
        name:
            f"measure_peers_{paper}"
        input:
            # The key contains the data's identity; the date of the files does not matter.
            datasets=ancient_once_made(list(peers_data(paper).values()), PEERS_FILES[paper]),
        output:
            rows=PEERS_FILES[paper][0].replace("repetition-1.", "repetition-{repetition}."),
        log:
            f"results/logs/{LABEL}/peers-{paper}-{{repetition}}.log",
        conda:
            "../envs/millrace.yaml"
        threads: 1
        resources:
            machine=100,
            mem_mb=8000,
        params:
            paper=paper,
            peers=",".join(each.id for each in PEERS),
            datasets=peers_data(paper),
        message:
            f"Measuring {', '.join(each.title for each in PEERS)} beside the operators of {paper},"
            " repetition {wildcards.repetition}"
        script:
            "../scripts/measure_peers.py"


for paper in PEERED:

    rule:
        name:
            f"peers_{paper}"
        input:
            rows=PEERS_FILES[paper],
        output:
            report(
                f"{SET}/figures/{paper}/{files.PEERS}.svg",
                category=paper,
                labels={"figure": "peers", "form": "what users would take instead"},
            ),
            [f for f in peers_figure(paper) if not f.endswith(".svg")],
        log:
            f"results/logs/{LABEL}/figures/{paper}-peers.log",
        conda:
            "../envs/millrace.yaml"
        threads: 1
        resources:
            mem_mb=1000,
        params:
            folder=lambda wildcards, output: str(Path(output[0]).parent),
            sources=sources("figures.peers"),
        message:
            f"Drawing the peers of {paper}"
        script:
            "../scripts/peers.py"

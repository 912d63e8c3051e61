"""Of modules that all strategies need, the strategy whose programs reach most of it."""

# Only there do streams meet in a merger by several routes, and only there the tables of channels,
# arrivals and balancers have programs.
ASKED = dict.fromkeys(
    (
        "operators.streamcloud.balancer",
        "operators.streamcloud.carriers.channels",
        "operators.streamcloud.merger",
    ),
    "streamcloud/subquery-cluster",
)

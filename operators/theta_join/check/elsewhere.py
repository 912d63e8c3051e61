"""Modules of theta joins that no other thread sees anything of."""

ELSEWHERE = {
    "operators.theta_join.predicates": (
        "compares two tuples, without a word that another thread sees; the ordinary tests compare"
        " it with the printed formulas"
    ),
}

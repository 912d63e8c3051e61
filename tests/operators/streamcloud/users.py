"""What a user has in a module of his own: processes that run his query look it up there."""


def half(x):
    return x // 2

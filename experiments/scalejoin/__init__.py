"""What is run, judged and shown of "ScaleJoin", the paper."""

"""What is run, judged and shown of "StreamCloud", the paper."""

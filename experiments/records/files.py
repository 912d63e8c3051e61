"""Writing files made from results: verdicts, figures, pages."""

from __future__ import annotations

from pathlib import Path

from operators.running.whole import write_whole


def write_file(output: str | Path, content: bytes) -> Path:
    """Write a file atomically: whole, or left as it was. A missing folder is made.

    Parameters
    ----------
    output : str or Path
    content : bytes

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    OSError
    """
    output = Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, content)
    return output

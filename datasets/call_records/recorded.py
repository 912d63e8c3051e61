"""Requirements on recorded calls: caller and called. Suspicious numbers follow from the callers."""

from datasets.call_records.suspects import announced
from datasets.recorded import Recorded

RECORDED = Recorded(needs=("caller", "called"), derived={"suspects": announced})

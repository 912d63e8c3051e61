"""Sales in stores, the input of the TPCx-BB queries of the ordered pipelines."""

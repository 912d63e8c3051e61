"""Sales in stores, as the TPCx-BB queries of the ordered pipelines read them."""

"""Clicks in a web shop, as the TPCx-BB queries of the ordered pipelines read them."""

"""Clicks in a web shop, the input of the TPCx-BB queries of the ordered pipelines."""

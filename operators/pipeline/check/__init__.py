"""What ``millrace check`` runs on schedulers."""

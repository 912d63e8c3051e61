"""What ``millrace check`` runs on partitioned worklists, and the faults that it has to see."""

"""What is reported: one file per subject. `catalogue` lists them in the order of the report."""

"""`plughost console`: a person, or a script, at a worker of the `sideband` contract."""

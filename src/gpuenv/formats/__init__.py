"""One module a format of the plan; `formats` lists them."""

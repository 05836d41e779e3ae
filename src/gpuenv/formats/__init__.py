"""The formats of a plan, a module each; `registry` lists them."""

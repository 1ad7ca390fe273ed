"""Go templates: the syntax and semantics of Go's text/template, with the functions of sprig that are deterministic."""

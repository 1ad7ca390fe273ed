"""An edit: from the files that were read to the generation in force."""

"""The rule language: a source file is parsed into a document of statements, with a diagnostic for each mistake."""

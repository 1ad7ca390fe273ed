"""Templates in three dialects: compiled once, at load, and rendered for each key that their rewrite matched."""

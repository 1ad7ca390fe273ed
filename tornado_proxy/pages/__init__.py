"""What people and programs see: listings, errors and answers, as HTML, JSON or text."""

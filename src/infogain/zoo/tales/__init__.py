"""Tales of a small world: who wants what, who has it, who is where. A teller writes them, a checker reads them."""

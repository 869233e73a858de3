"""How fast and how small Fairlead is, beside the least that C needs and beside its peers."""

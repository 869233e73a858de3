"""What the rules say about a request. Pure: nothing is run, nothing is looked up."""

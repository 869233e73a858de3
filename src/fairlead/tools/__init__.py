"""The edge: untrusted JSON in, text that fits a context out. One module per tool."""

"""The `fairlead` command. One module per subcommand, each imported only when it is used."""

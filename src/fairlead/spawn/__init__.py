"""The only place where an agent's command is forked and executed."""

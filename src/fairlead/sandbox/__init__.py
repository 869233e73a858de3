"""From a policy to a plan, pure, and the backends that render it."""

"""An agent's pane in its terminal, and the menu of agents there."""

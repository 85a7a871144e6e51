"""What all parts of the fleet share: ports, programs, terminals, states, accounts, and the calls with their results."""

"""Child processes: started in one way, watched, limited, ended with all that they started."""

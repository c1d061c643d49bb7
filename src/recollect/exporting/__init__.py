"""Moving out: what is remembered here, written as other tools read it. `export` itself writes everything, for us."""

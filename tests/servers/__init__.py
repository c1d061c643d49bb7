"""Real servers for the test session, each on a free loopback port with its own data directory."""

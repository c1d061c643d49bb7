"""What the inspector's pages show, one function per page: read-only, through a handle that the key determines."""

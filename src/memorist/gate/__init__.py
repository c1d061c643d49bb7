"""What may be written: secrets are masked or refused before anything is stored in derived memory."""

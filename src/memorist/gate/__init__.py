"""Decides what may be written. Secrets are masked or refused before anything is stored in derived memory."""

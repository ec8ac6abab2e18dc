"""The papers' tables and figures as data, and what measures them again."""

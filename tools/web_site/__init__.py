"""The site in English and Chinese: what lies where on it, and whether all of its links lead somewhere."""

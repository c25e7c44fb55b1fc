"""Documentation generators: pages of the site that are written from the package, and checks of the built site."""

"""What a user's file must have, and readers of public formats of such files."""

"""What the state machine plays: who asks for what, put to the model and to every store."""

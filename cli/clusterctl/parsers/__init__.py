"""Pure: the text of a tool -> typed samples. A text that is not understood raises UnparsableError, never passes."""

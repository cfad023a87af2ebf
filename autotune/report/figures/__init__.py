"""The figures of the report, one module each; `style` draws them all alike."""

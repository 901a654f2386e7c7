"""What commands have in common: options, tables, exit codes."""

"""What every room may use: files, cores, memory, progress, plain tables; it knows no task and no encoder."""

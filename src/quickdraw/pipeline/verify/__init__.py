"""Is a dataset what it says it is? Every check alone, every finding with its place, nothing raised one by one."""

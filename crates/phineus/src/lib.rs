//! Secure computation, planned ahead: the library users add, and the phineus command

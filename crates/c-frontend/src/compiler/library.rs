//! Functions of C's library: those that a computation may call, and what to write for others.

/// Those that are C themselves, each with [`PREFIX`] before its name.
pub(crate) const LIBRARY: &str = include_str!("library.c");

/// Prefix of the names of functions in [`LIBRARY`].
pub(crate) const PREFIX: &str = "phineus_c_";

/// Returns whether `assert` calls the function when its condition is false.
pub(crate) fn is_assertion(name: &str) -> bool {
    ["__assert_fail", "__assert_perror_fail", "__assert_rtn", "__assert"].contains(&name)
}

/// Returns whether the function ends the program.
pub(crate) fn is_stop(name: &str) -> bool {
    ["abort", "exit", "_exit", "_Exit", "quick_exit"].contains(&name)
}

/// Remedy for a stop of the program.
pub(crate) const NO_STOP: &str = "give a flag as a result instead of stopping";

/// The remedy for a call of a function that is not defined in the program.
pub(crate) fn remedy(name: &str) -> &'static str {
    let is_any = |names: &[&str]| names.contains(&name);
    if is_any(&["printf", "puts", "putchar", "fprintf", "sprintf", "snprintf", "fwrite", "perror"])
    {
        "what a party is to learn is a parameter with PH_OUT(party), or the result; \
         ph_reveal(x) opens a value to all when the program runs"
    } else if is_any(&["scanf", "fscanf", "getchar", "fgets", "fread", "fopen", "getenv", "read"]) {
        "what a party brings is a parameter with PH_IN(party)"
    } else if is_any(&["rand", "srand", "random", "time", "clock", "getrandom"]) {
        "all parties must make the same program: bring random numbers as inputs with PH_IN(party)"
    } else if is_any(&["sqrt", "exp", "log", "log2", "pow", "sin", "cos", "tanh", "floor", "fabs"])
    {
        "write it with ph_fixed, the fixed-point numbers of phineus.h"
    } else if is_any(&["realloc", "reallocarray"]) {
        "allocate as much as is ever needed at once, and copy with memcpy"
    } else if is_any(&["strlen", "strcmp", "strcpy", "strcat"]) {
        "how long a string is would be a secret: give a public bound with strnlen, strncmp, memcpy"
    } else if is_any(&["qsort", "bsearch", "memchr", "strchr", "strstr", "strncpy"]) {
        "write it as a loop with public bounds"
    } else {
        "define it in this file, or leave the call out"
    }
}

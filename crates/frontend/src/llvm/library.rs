//! What to write instead of functions that C's library has and a computation on secrets has not.

/// The remedy for a call of a function that is not defined in the program.
pub(super) fn remedy(name: &str) -> &'static str {
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
    } else if is_any(&["qsort", "bsearch", "strlen", "strcmp", "memcmp", "bcmp", "memchr"]) {
        "write it as a loop with public bounds"
    } else {
        "define it in this file, or leave the call out"
    }
}

//! Rules for names of parties.

/// The longest name of a party.
pub const NAME_BYTES_MAX: usize = 64;

/// Checks the name of a party: it goes into file names, messages and tables.
///
/// # Errors
/// Returns what is wrong with it, as the end of a sentence.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() {
        Err("a party needs a name")
    } else if name.len() > NAME_BYTES_MAX {
        Err("a name has at most 64 characters")
    } else if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        Err("a name starts with a letter from a to z")
    } else if !name.chars().all(allowed) {
        Err("a name has only letters from a to z, digits, _ and -")
    } else {
        Ok(())
    }
}

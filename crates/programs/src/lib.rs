//! The built-in programs.

mod accompanied;
mod biometric;
pub mod choices;
mod divisor;
mod encryption;
mod intersection;
mod join;
mod keyed_join;
mod layers;
mod linear_layer;
mod millionaires;
mod network;
mod password_reuse;
pub mod random;
mod sorting;

use phineus_frontend::Program;

use accompanied::Accompanied;

/// All programs, in the order in which help shows them.
pub fn all() -> Vec<Box<dyn Program>> {
    vec![
        Box::new(Accompanied(password_reuse::PasswordReuse)),
        Box::new(Accompanied(millionaires::Millionaires)),
        Box::new(Accompanied(sorting::Merge)),
        Box::new(Accompanied(sorting::Sort)),
        Box::new(Accompanied(keyed_join::KeyedJoin)),
        Box::new(Accompanied(join::LoopJoin)),
        Box::new(Accompanied(layers::MatrixVector)),
        Box::new(Accompanied(layers::BinaryLayer)),
        Box::new(Accompanied(linear_layer::LinearLayer)),
        Box::new(encryption::Aes128),
        Box::new(encryption::Sha256),
        Box::new(biometric::Biometric),
        Box::new(intersection::Intersection),
        Box::new(network::Network),
        Box::new(Accompanied(divisor::GreatestDivisor)),
    ]
}

/// The program with this name.
#[cfg(test)]
fn find(name: &str) -> Option<Box<dyn Program>> {
    all().into_iter().find(|program| program.name() == name)
}

/// The two parties of the built-in programs.
const SITES: [&str; 2] = ["site_a", "site_b"];

fn sites() -> Vec<String> {
    SITES.map(String::from).to_vec()
}

#[cfg(test)]
mod tests;

//! The built-in programs.

mod biometric;
pub mod choices;
mod computing_parties;
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

use computing_parties::WithComputingParties;

/// All programs, in the order in which help shows them.
pub fn all() -> Vec<Box<dyn Program>> {
    vec![
        Box::new(WithComputingParties(password_reuse::PasswordReuse)),
        Box::new(WithComputingParties(millionaires::Millionaires)),
        Box::new(WithComputingParties(sorting::Merge)),
        Box::new(WithComputingParties(sorting::Sort)),
        Box::new(WithComputingParties(keyed_join::KeyedJoin)),
        Box::new(WithComputingParties(join::LoopJoin)),
        Box::new(WithComputingParties(layers::MatrixVector)),
        Box::new(WithComputingParties(layers::BinaryLayer)),
        Box::new(WithComputingParties(linear_layer::LinearLayer)),
        Box::new(encryption::Aes128),
        Box::new(encryption::Sha256),
        Box::new(biometric::Biometric),
        Box::new(intersection::Intersection),
        Box::new(network::NeuralNetwork),
        Box::new(WithComputingParties(divisor::GreatestDivisor)),
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

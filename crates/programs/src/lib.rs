//! The built-in programs.

mod bfs;
mod binary_search;
mod biometric;
pub mod choices;
mod cnn;
mod computing_parties;
mod dijkstra;
mod encryption;
mod gale_shapley;
mod gcd;
mod graph;
mod join;
mod layers;
mod linear_layer;
mod ljoin;
mod millionaires;
mod password_reuse;
mod psi;
pub mod random;
mod scrypt;
mod sorting;
mod unrolled;

use phineus_frontend::Program;

use computing_parties::WithComputingParties;

/// All programs, in the order in which help shows them.
pub fn all() -> Vec<Box<dyn Program>> {
    vec![
        Box::new(WithComputingParties(password_reuse::PasswordReuse)),
        Box::new(WithComputingParties(millionaires::Millionaires)),
        Box::new(WithComputingParties(sorting::Merge)),
        Box::new(WithComputingParties(sorting::Sort)),
        Box::new(WithComputingParties(join::KeyedJoin)),
        Box::new(WithComputingParties(ljoin::LoopJoin)),
        Box::new(WithComputingParties(layers::MatrixVector)),
        Box::new(WithComputingParties(layers::BinaryLayer)),
        Box::new(WithComputingParties(linear_layer::LinearLayer)),
        Box::new(encryption::Aes128),
        Box::new(encryption::Sha256),
        Box::new(biometric::Biometric),
        Box::new(psi::Intersection),
        Box::new(cnn::NeuralNetwork),
        Box::new(WithComputingParties(gcd::GreatestDivisor)),
        Box::new(WithComputingParties(binary_search::BinarySearch)),
        Box::new(WithComputingParties(scrypt::Scrypt)),
        Box::new(WithComputingParties(bfs::BreadthFirstSearch)),
        Box::new(WithComputingParties(dijkstra::Dijkstra)),
        Box::new(WithComputingParties(gale_shapley::GaleShapley)),
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

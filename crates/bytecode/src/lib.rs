//! The operations, programs and planned programs of Phineus: one table, two forms, one verifier

//! [`MatVec`]: the product of a matrix and a vector in flight.
//!
//! With a matrix triple `(A, b, A b)`, `E = W - A` and `f = x - b`:
//! `W x = A b + E (b + f) + A f`. Only `E` and `f` are opened: each entry of the matrix once.

use phineus_bytecode::Instruction;
use phineus_crypto::field::Field;
use zeroize::Zeroizing;

use super::run::{Context, Shares, blank};
use super::{Material, Share};
use crate::ProtocolError;

/// A product whose operands are being opened under masks.
pub(super) struct MatVec<F: Field> {
    /// The triple's matrix, column by column, vector and product.
    matrix: Shares<F>,
    vector: Shares<F>,
    product: Shares<F>,
    at: usize,
}

impl<F: Field> MatVec<F> {
    pub(super) fn issue<M: Material<F>>(
        context: &mut Context<'_, F, M>,
        instruction: &Instruction,
        matrix: &[Share<F>],
        vector: &[Share<F>],
    ) -> Result<MatVec<F>, ProtocolError> {
        let (rows, columns) = (instruction.lanes as usize, vector.len());
        let mut made = MatVec {
            matrix: blank(matrix.len()),
            vector: blank(columns),
            product: blank(rows),
            at: 0,
        };
        let MatVec { matrix: a, vector: b, product: c, .. } = &mut made;
        context.material.matrix_triples(rows, columns, a, b, c)?;
        let mut masked = Zeroizing::new(Vec::with_capacity(matrix.len() + columns));
        masked.extend_from_slice(matrix);
        masked.extend_from_slice(vector);
        let (difference, last) = masked.split_at_mut(matrix.len());
        F::sub_assign(Share::elements_mut(difference), Share::elements(a));
        F::sub_assign(Share::elements_mut(last), Share::elements(b));
        made.at = context.opening.push(&masked);
        Ok(made)
    }

    pub(super) fn take<M>(&mut self, context: &Context<'_, F, M>) {
        let MatVec { matrix, vector, product, at } = self;
        let opened = context.opening.opened(*at, matrix.len() + vector.len());
        let (e, f) = opened.split_at(matrix.len());
        // A f: shares are two elements, and so is each row of the matrix.
        F::mat_vec_add(Share::elements_mut(product), Share::elements(matrix), f);
        let sums: Vec<Share<F>> = vector
            .iter()
            .zip(f)
            .map(|(b, &f)| b.add(Share::public(f, context.me, context.delta)))
            .collect();
        let mut part = Zeroizing::new(vec![F::ZERO; product.len()]);
        let values: Zeroizing<Vec<F>> = Zeroizing::new(sums.iter().map(|sum| sum.value).collect());
        F::mat_vec_add(&mut part, e, &values);
        product.iter_mut().zip(&*part).for_each(|(out, &part)| out.value = out.value.add(part));
        part.fill(F::ZERO);
        let macs: Zeroizing<Vec<F>> = Zeroizing::new(sums.iter().map(|sum| sum.mac).collect());
        F::mat_vec_add(&mut part, e, &macs);
        product.iter_mut().zip(&*part).for_each(|(out, &part)| out.mac = out.mac.add(part));
    }

    /// The shares of the product, after [`Self::take`].
    pub(super) fn result(&self) -> &[Share<F>] {
        &self.product
    }
}

//! [`Gpu`]: batches of products on a device.
//!
//! A product is cut into *pieces* of as many columns as a buffer takes. Neighbouring pieces of one
//! shape make a *load*: matrices and vectors of all go to a lane's buffer (of a product of several
//! tuples of vectors the matrix once, and the vectors entry by entry), cross the bus in one copy,
//! are multiplied by one kernel for each term and four vectors, and the results come back in one
//! copy and are added here. Two lanes take turns. Cost: each element is copied once here and once
//! across the bus. Invariant: a piece is added when its results are here and not before, so what a
//! device that fails has not given is computed here, once.

use std::collections::VecDeque;
use std::ops::Range;

use phineus_crypto::field::MatrixProduct;
use zerocopy::{FromBytes, IntoBytes};
use zeroize::Zeroizing;

use crate::device::{BUFFER_BYTES, CudaDevice, Error, KernelCall, LANES};
use crate::element::DeviceElement;
use crate::stream::Stream;

/// Parts of a buffer begin at multiples of this: no element is larger.
const ALIGN_BYTES: usize = 16;

/// Columns that a thread goes through at the least where rows alone do not keep a device busy.
const PART_COLUMNS_MIN: usize = 32;

/// Some columns of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProductColumns {
    product: usize,
    columns: Range<usize>,
}

/// Parameters that all pieces of a load share: results, columns, tuples, vectors of each term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LoadShape<const TERMS: usize> {
    out_len: usize,
    columns: usize,
    count: usize,
    /// Of all tuples together.
    widths: [usize; TERMS],
}

impl<const TERMS: usize> LoadShape<TERMS> {
    fn of<E: DeviceElement>(
        product: &MatrixProduct<'_, E, TERMS>,
        columns: usize,
    ) -> LoadShape<TERMS> {
        let widths = product.terms.each_ref().map(|term| term.all());
        let count = product.terms.first().map_or(1, |term| term.count);
        LoadShape { out_len: product.out.len(), columns, count, widths }
    }

    /// Elements of one column of all terms.
    fn column(&self) -> usize {
        self.widths.iter().map(|width| self.out_len / width + width).sum()
    }

    /// Pieces that one load takes.
    fn capacity<E: DeviceElement>(&self) -> usize {
        let room = (BUFFER_BYTES - 2 * TERMS * ALIGN_BYTES) / size_of::<E>();
        let results = BUFFER_BYTES / size_of::<E>();
        let input = self.column().saturating_mul(self.columns);
        (room / input.max(1)).min(results / self.out_len.max(1))
    }

    /// Columns of which one load takes a piece.
    fn columns_max<E: DeviceElement>(&self) -> usize {
        let room = (BUFFER_BYTES - 2 * TERMS * ALIGN_BYTES) / size_of::<E>();
        room / self.column().max(1)
    }

    /// Where the matrices and the vectors of each term begin in the buffer of `count` pieces, and
    /// where all ends.
    fn places<E: DeviceElement>(&self, count: usize) -> ([(usize, usize); TERMS], usize) {
        let mut end = 0;
        let mut take = |elements: usize| {
            let at = end;
            end = (at + elements * size_of::<E>()).next_multiple_of(ALIGN_BYTES);
            at
        };
        let places = self.widths.map(|width| {
            let matrices = take(count * self.columns * (self.out_len / width));
            (matrices, take(count * self.columns * width))
        });
        (places, end)
    }
}

/// A device and what is under way there.
pub struct Gpu {
    device: CudaDevice,
    lanes: [Stream; LANES],
    /// Pieces in progress, by lane.
    under_way: [Vec<ProductColumns>; LANES],
    waiting: VecDeque<ProductColumns>,
    failure: Option<Error>,
    /// Bytes of results of several tuples, tuple after tuple.
    turned: Zeroizing<Vec<u8>>,
}

impl Gpu {
    /// The first device of this machine.
    ///
    /// # Errors
    /// If there is none, or it has too little memory.
    pub fn open() -> Result<Gpu, Error> {
        let device = CudaDevice::open()?;
        let lanes = [device.lane()?, device.lane()?];
        Ok(Gpu {
            device,
            lanes,
            under_way: Default::default(),
            waiting: VecDeque::new(),
            failure: None,
            turned: Zeroizing::new(Vec::new()),
        })
    }

    /// The device.
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// How the device has failed, if it has. Nothing is asked of it any more then.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    pub(crate) fn lanes_mut(&mut self) -> &mut [Stream; LANES] {
        &mut self.lanes
    }

    /// Adds its terms to each product's results.
    ///
    /// # Errors
    /// When the device fails. The results are right also then: the processor has made the rest.
    ///
    /// # Panics
    /// If the sizes of a product do not fit together.
    pub fn add<E: DeviceElement, const TERMS: usize>(
        &mut self,
        products: &mut [MatrixProduct<'_, E, TERMS>],
    ) -> Result<(), Error> {
        products.iter().for_each(MatrixProduct::check);
        self.cut(products);
        let result = match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => self.run(products),
        };
        if let Err(failure) = &result {
            self.failure = Some(failure.clone());
            let lost = self.under_way.iter_mut().flat_map(|pieces| pieces.drain(..));
            for piece in lost.chain(self.waiting.drain(..)) {
                add_here(products, &piece);
            }
        }
        result
    }

    /// Cuts products into pieces that fit; what has no space even in parts is made here.
    fn cut<E: DeviceElement, const TERMS: usize>(
        &mut self,
        products: &mut [MatrixProduct<'_, E, TERMS>],
    ) {
        self.waiting.clear();
        for product in 0..products.len() {
            let columns = products[product].terms.first().map_or(0, |term| term.columns());
            let form = LoadShape::of(&products[product], columns);
            if columns == 0 || form.out_len == 0 {
                continue;
            }
            let most = form.columns_max::<E>().min(columns);
            if most == 0 || form.out_len * size_of::<E>() > BUFFER_BYTES {
                add_here(products, &ProductColumns { product, columns: 0..columns });
                continue;
            }
            for from in (0..columns).step_by(most) {
                let columns = from..(from + most).min(columns);
                self.waiting.push_back(ProductColumns { product, columns });
            }
        }
    }

    fn run<E: DeviceElement, const TERMS: usize>(
        &mut self,
        products: &mut [MatrixProduct<'_, E, TERMS>],
    ) -> Result<(), Error> {
        let mut turn = 0;
        while !self.waiting.is_empty() {
            self.collect(turn, products)?;
            let form = |piece: &ProductColumns| {
                LoadShape::of(&products[piece.product], piece.columns.len())
            };
            let load_form = form(&self.waiting[0]);
            let alike = self.waiting.iter().take_while(|piece| form(piece) == load_form).count();
            let count = alike.min(load_form.capacity::<E>());
            assert!(count > 0, "pieces fit into buffers");
            // Under way before anything can fail: a piece is always in one of the lists.
            self.under_way[turn].extend(self.waiting.drain(..count));
            self.load(turn, load_form, products)?;
            turn = (turn + 1) % LANES;
        }
        for lane in 0..LANES {
            self.collect((turn + lane) % LANES, products)?;
        }
        Ok(())
    }

    /// Waits for a lane and adds what it made.
    fn collect<E: DeviceElement, const TERMS: usize>(
        &mut self,
        lane: usize,
        products: &mut [MatrixProduct<'_, E, TERMS>],
    ) -> Result<(), Error> {
        if self.under_way[lane].is_empty() {
            return Ok(());
        }
        self.lanes[lane].wait()?;
        let outs =
            self.under_way[lane].iter().map(|piece| size_of_val(&*products[piece.product].out));
        let bytes = &self.lanes[lane].downloaded()?[..outs.sum()];
        let mut results = <[E]>::ref_from_bytes(bytes).expect("buffers are aligned");
        if !results.iter().fold(true, |all, x| all & x.is_element()) {
            return Err(Error::Wrong);
        }
        for piece in self.under_way[lane].drain(..) {
            let out = &mut *products[piece.product].out;
            let of_piece;
            (of_piece, results) = results.split_at(out.len());
            match products[piece.product].terms.first().map_or(1, |term| term.count) {
                1 => E::add_assign(out, of_piece),
                count => {
                    let turned = turned::<E>(&mut self.turned, of_piece.len());
                    for (i, results) in of_piece.chunks_exact(count).enumerate() {
                        let places = turned.iter_mut().skip(i).step_by(of_piece.len() / count);
                        places.zip(results).for_each(|(place, result)| *place = *result);
                    }
                    E::add_assign(out, turned);
                }
            }
        }
        Ok(())
    }

    /// Fills a lane's buffer with its pieces and sets it to work.
    fn load<E: DeviceElement, const TERMS: usize>(
        &mut self,
        lane: usize,
        form: LoadShape<TERMS>,
        products: &[MatrixProduct<'_, E, TERMS>],
    ) -> Result<(), Error> {
        let pieces = &self.under_way[lane];
        let (places, end) = form.places::<E>(pieces.len());
        let buffer = self.lanes[lane].upload_mut()?;
        for (term, (mut matrix_at, mut vectors_at)) in places.into_iter().enumerate() {
            let mut put = |at: &mut usize, source: &[u8]| {
                buffer[*at..*at + source.len()].copy_from_slice(source);
                *at += source.len();
            };
            for piece in pieces {
                let whole = &products[piece.product].terms[term];
                let columns = piece.columns.clone();
                let first = whole.tuple(0).part(form.out_len / form.count, columns.clone());
                put(&mut matrix_at, first.matrix.as_bytes());
                if form.count == 1 {
                    put(&mut vectors_at, first.vectors.as_bytes());
                    continue;
                }
                let len = whole.vectors.len() / form.count;
                for entry in columns.start * whole.width..columns.end * whole.width {
                    for tuple in 0..form.count {
                        put(&mut vectors_at, whole.vectors[tuple * len + entry].as_bytes());
                    }
                }
            }
        }
        let count = pieces.len();
        self.lanes[lane].send(end)?;
        for (term, (matrix_at, vectors_at)) in places.into_iter().enumerate() {
            let width = form.widths[term];
            let rows = form.out_len / width;
            let call = KernelCall {
                ring: E::RING,
                element_bytes: size_of::<E>(),
                matrix_at,
                vectors_at,
                rows: rows as u32,
                columns: form.columns as u32,
                count: count as u32,
                width: width as u32,
                part_columns: self.part_columns::<E, TERMS>(&form, count, count * rows),
                adds: term > 0,
            };
            call.check();
            self.device.products(&self.lanes[lane], &call)?;
        }
        self.lanes[lane].fetch(count * form.out_len * size_of::<E>())
    }

    /// Columns of one part of the grid: more parts where rows are few, if planes have space.
    fn part_columns<E: DeviceElement, const TERMS: usize>(
        &self,
        form: &LoadShape<TERMS>,
        count: usize,
        threads: usize,
    ) -> u32 {
        let wanted = (self.device.threads() / threads).min(form.columns / PART_COLUMNS_MIN);
        let room = BUFFER_BYTES / size_of::<E>() / (count * form.out_len);
        let parts = wanted.min(room).clamp(1, 65_535);
        form.columns.div_ceil(parts) as u32
    }
}

/// Adds a piece on the processor.
fn add_here<E: DeviceElement, const TERMS: usize>(
    products: &mut [MatrixProduct<'_, E, TERMS>],
    piece: &ProductColumns,
) {
    let product = &mut products[piece.product];
    for term in &product.terms {
        if piece.columns == (0..term.columns()) {
            E::add_term(product.out, term);
            continue;
        }
        let len = product.out.len() / term.count;
        for (tuple, out) in product.out.chunks_exact_mut(len).enumerate() {
            E::add_term(out, &term.tuple(tuple).part(len, piece.columns.clone()));
        }
    }
}

/// Room for so many elements.
fn turned<E: DeviceElement>(buffer: &mut Zeroizing<Vec<u8>>, len: usize) -> &mut [E] {
    let bytes = len * size_of::<E>() + size_of::<E>();
    if buffer.len() < bytes {
        *buffer = Zeroizing::new(vec![0; bytes]);
    }
    let skipped = buffer.as_ptr().align_offset(align_of::<E>());
    let bytes = &mut buffer[skipped..][..len * size_of::<E>()];
    <[E]>::mut_from_bytes(bytes).expect("the bytes are aligned")
}

#[cfg(test)]
mod tests;

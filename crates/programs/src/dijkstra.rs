//! `dijkstra`: the lengths of shortest paths from a vertex in a graph whose edges two parties bring.
//!
//! Vertices that were seen wait in a tournament ([`Tournament`]), which gives the nearest one.
//!
//! Cost: for `v` vertices, `e` edges and distances of `d` bits, `v + e` iterations with an access of `v` rows of
//! `d + log e` bits, a read of `e` rows of `log v` bits and a weight, and an update of the tournament; then `v` reads. An
//! update is an access of `2^l` rows of `2 (d + log v - l - 1)` bits for each `l` from 1 to `log v - 1`: some `4 v d` ANDs
//! with `memory=scan`. The graph itself takes two merges and a compaction (`graph.rs`).

mod tournament;

use phineus_bytecode::{ElementType, Lane, Table, mask_of};
use phineus_frontend::{
    Arguments, ColumnRange, Parameter, Program, ProgramError, Tracer, Value, receivers,
    to_parameter,
};

use super::graph::{
    self, Distances, Graph, GraphShape, SearchState, bits_below, clear_result, give_out,
};
use super::{choices, sites, unrolled};
use tournament::Tournament;

/// Instructions of an iteration besides accesses of memories, about.
const ITERATION: u128 = 350;

/// Finds shortest paths.
pub(super) struct Dijkstra;

/// The graph, and the type of distances.
fn shape(arguments: &Arguments) -> Result<(GraphShape, ElementType), ProgramError> {
    let weight_bits = choices::width(arguments, 1, 32)?;
    let shape = GraphShape::of(arguments, Some(weight_bits))?;
    // A path has fewer edges than there are vertices; all ones stand for no path.
    let distance = ElementType::unsigned(weight_bits + bits_below(shape.vertices));
    let matches = (0..bits_below(shape.vertices))
        .map(|level| unrolled::access(1 << level, distance.width(), 4, shape.method));
    shape.check_size(ITERATION + matches.sum::<u128>())?;
    Ok((shape, distance))
}

fn no_path(distance: ElementType) -> Lane {
    mask_of(distance.width())
}

/// Takes the nearest vertex that was not visited, or follows the next edge.
#[track_caller]
fn iterate(graph: &mut Graph, tournament: &mut Tournament, state: &mut SearchState) {
    let edge = state.follow(graph);
    let (least, nearest) = tournament.least();
    let found = least.all_bits().not().and(&state.wants_vertex);
    let index = state.wants_vertex.select(&nearest, &edge[0]);
    let distance = state.distance.add(&edge[1].cast(least.integer()));
    let mut is_nearer = None;
    let row = graph.vertices.update(&index, |row| {
        let nearer = distance.lt(&row[0]).and(&state.wants_vertex.not());
        let least = nearer.select(&distance, &row[0]);
        is_nearer = Some(nearer);
        vec![least, row[1].clone(), row[2].clone()]
    });
    // A vertex that was visited is not in the tournament any more, and never nearer again.
    let is_nearer = is_nearer.expect("an access changes a row");
    let none = index.tracer().constant(least.integer(), no_path(least.integer()));
    let changed = found.or(&is_nearer);
    let key = is_nearer.select(&distance, &none);
    state.advance(&found, &least, &row, &edge[2]);
    tournament.update(&index, &key, &changed);
}

impl Program for Dijkstra {
    fn name(&self) -> &str {
        "dijkstra"
    }

    fn about(&self) -> &str {
        "the shortest distance of every vertex from a vertex, in a directed graph of both sites' edges"
    }

    fn parameters(&self) -> Vec<Parameter> {
        let width = Parameter::new("width", "16", "bits of the weight of an edge, 1 to 32");
        [graph::parameters(), vec![width, to_parameter("all")]].concat()
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let (shape, element) = shape(arguments)?;
        let names = sites();
        let to = receivers(arguments, &names)?;
        let elsewhere = no_path(element);
        let distances = Distances { element, at_source: Lane::ZERO, elsewhere };
        let mut graph = Graph::new(tracer, &shape, &distances);
        let mut tournament = Tournament::new(tracer, element, shape.vertices, shape.method);
        let source = tracer.constant(shape.vertex_element(), Lane::from(shape.source));
        let always = tracer.constant(ElementType::BIT, Lane::ONE);
        tournament.update(&source, &tracer.constant(element, Lane::ZERO), &always);
        let mut state = SearchState::new(tracer, &graph, element);
        for _ in 0..shape.iterations() {
            iterate(&mut graph, &mut tournament, &mut state);
        }
        let result = |distance: &Value| {
            let reached = distance.all_bits().not();
            let distance = reached.mask(distance);
            [reached, distance]
        };
        give_out(tracer.output("result", &to), &shape, graph, element, result);
        Ok(())
    }

    /// By the algorithm of Bellman and Ford.
    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(shape(arguments).map(|(shape, element)| {
            let edges = shape.clear_edges(inputs);
            let mut distances: Vec<Option<u64>> = vec![None; shape.vertices as usize];
            distances[shape.source as usize] = Some(0);
            let mut is_changed = true;
            while is_changed {
                is_changed = false;
                for &[from, to, weight] in &edges {
                    let Some(distance) = distances[from as usize] else { continue };
                    let distance = distance + weight;
                    if distances[to as usize].is_none_or(|known| distance < known) {
                        distances[to as usize] = Some(distance);
                        is_changed = true;
                    }
                }
            }
            vec![clear_result(&shape, element, &distances)]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        Some(shape(arguments).ok()?.0.generate(seed))
    }

    fn ranges(&self, arguments: &Arguments) -> Result<Vec<ColumnRange>, ProgramError> {
        Ok(shape(arguments)?.0.ranges())
    }
}

#[cfg(test)]
mod tests;

//! `bfs`: the distances from a vertex in a graph whose edges two parties bring.
//!
//! Cost: for `v` vertices and `e` edges, `v + e` iterations with an access of `v` rows of `2 log v + log e` bits, a read
//! of `e` rows of `log v` bits, and a push and a pop of a [`Queue`] of `v` numbers; then `v` reads. The graph itself takes
//! two merges and a compaction (`graph.rs`).

use phineus_bytecode::{ElementType, Lane, Table};
use phineus_frontend::{
    Arguments, ColumnRange, Parameter, Program, ProgramError, Tracer, Value, receivers,
    to_parameter,
};
use phineus_oblivious::Queue;

use super::graph::{
    self, Distances, Graph, GraphShape, SearchState, bits_below, clear_result, give_out,
};
use super::sites;

/// Instructions of an iteration besides accesses of memories, about.
const ITERATION: u128 = 250;

/// Searches a graph breadth-first.
pub(super) struct BreadthFirstSearch;

fn shape(arguments: &Arguments) -> Result<GraphShape, ProgramError> {
    let shape = GraphShape::of(arguments, None)?;
    shape.check_size(ITERATION)?;
    Ok(shape)
}

/// Distances plus 1, of which there are as many as vertices, and 0 for a vertex that was not found.
fn distance_element(shape: &GraphShape) -> ElementType {
    ElementType::unsigned(bits_below(shape.vertices + 1))
}

/// Finds the next vertex of the queue, or follows the next edge.
#[track_caller]
fn iterate(graph: &mut Graph, queue: &mut Queue, state: &mut SearchState) {
    let (found, popped) = queue.pop(&state.wants_vertex);
    let edge = state.follow(graph);
    let index = state.wants_vertex.select(&popped[0], &edge[0]);
    let one = index.tracer().constant(state.distance.integer(), Lane::ONE);
    let next = state.distance.add(&one);
    let mut is_new = None;
    let row = graph.vertices.update(&index, |row| {
        let new = row[0].any_bit().or(&state.wants_vertex).not();
        let distance = new.select(&next, &row[0]);
        is_new = Some(new);
        vec![distance, row[1].clone(), row[2].clone()]
    });
    queue.push(&is_new.expect("an access changes a row"), &edge[..1]);
    state.advance(&found, &row[0], &row, &edge[1]);
}

impl Program for BreadthFirstSearch {
    fn name(&self) -> &str {
        "bfs"
    }

    fn about(&self) -> &str {
        "how many edges every vertex is away from a vertex, in a directed graph of both sites' edges"
    }

    fn parameters(&self) -> Vec<Parameter> {
        [graph::parameters(), vec![to_parameter("all")]].concat()
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let shape = shape(arguments)?;
        let names = sites();
        let to = receivers(arguments, &names)?;
        let element = distance_element(&shape);
        let distances = Distances { element, at_source: Lane::ONE, elsewhere: Lane::ZERO };
        let mut graph = Graph::new(tracer, &shape, &distances);
        let mut queue = Queue::new(tracer, &[shape.vertex_element()], shape.vertices);
        let source = tracer.constant(shape.vertex_element(), Lane::from(shape.source));
        queue.push(&tracer.constant(ElementType::BIT, Lane::ONE), &[source]);
        let mut state = SearchState::new(tracer, &graph, element);
        for _ in 0..shape.iterations() {
            iterate(&mut graph, &mut queue, &mut state);
        }
        let result = |distance: &Value| {
            let reached = distance.any_bit();
            let one = tracer.constant(element, Lane::ONE);
            let distance = reached.mask(&distance.sub(&one.tile(distance.lanes())));
            [reached, distance]
        };
        give_out(tracer.output("result", &to), &shape, graph, element, result);
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(shape(arguments).map(|shape| {
            let mut neighbours = vec![Vec::new(); shape.vertices as usize];
            for [from, to, _] in shape.clear_edges(inputs) {
                neighbours[from as usize].push(to as usize);
            }
            let mut distances = vec![None; shape.vertices as usize];
            let (mut frontier, mut distance) = (vec![shape.source as usize], 0);
            while !frontier.is_empty() {
                frontier.retain(|&vertex| distances[vertex].is_none());
                frontier.iter().for_each(|&vertex| distances[vertex] = Some(distance));
                frontier = frontier.iter().flat_map(|&vertex| neighbours[vertex].clone()).collect();
                distance += 1;
            }
            vec![clear_result(&shape, distance_element(&shape), &distances)]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        Some(shape(arguments).ok()?.generate(seed))
    }

    fn ranges(&self, arguments: &Arguments) -> Result<Vec<ColumnRange>, ProgramError> {
        Ok(shape(arguments)?.ranges())
    }
}

#[cfg(test)]
mod tests;

//! Graphs whose edges two parties bring, as memories that a search reads at secret indices.
//!
//! Each party sorts its own edges by where they begin, and the tables are merged. Merging them with the vertices gives
//! where the edges of each vertex begin. A search ([`SearchState`]) then takes one access of each memory per iteration, in
//! as many iterations as there are vertices and edges: Zahur et al., "Revisiting Square-Root ORAM", IEEE S&P 2016,
//! section V-D.
//!
//! Deviation: a vertex of the memory says where its edges begin. In the authors' implementation each edge says it of the
//! vertex that it leads to. So edges are narrow here, and no access for each edge prepares them.
//!
//! Numbers that are no vertex are refused when a table is read ([`GraphShape::ranges`]). If a party enters them all the
//! same, distances are wrong.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table, mask_of};
use phineus_frontend::{
    Arguments, Bit, ColumnRange, OutputBuilder, Parameter, ProgramError, Records, Tracer, Value,
    column, lanes_for, rechunk,
};
use phineus_oblivious::{Memory, MemoryMethod, SortKey, adjacent, compact, merge};

use super::choices::{memory_method, memory_parameter};
use super::{SITES, unrolled};

/// The most vertices, and the most edges.
const ITEMS_MAX: u64 = 1 << 20;

/// Bits of numbers below `count`.
pub(super) fn bits_below(count: u64) -> u16 {
    (u64::BITS - count.saturating_sub(1).leading_zeros()).max(1) as u16
}

/// Sizes of a graph, and what its edges have besides their ends.
pub(super) struct GraphShape {
    pub(super) vertices: u64,
    pub(super) source: u64,
    pub(super) method: Option<MemoryMethod>,
    /// Edges of each site.
    site_edges: [u64; 2],
    /// Bits of the weight of an edge, if it has one.
    weight: Option<u16>,
}

/// Parameters that all programs on graphs have, besides that of the receivers.
pub(super) fn parameters() -> Vec<Parameter> {
    vec![
        Parameter::new("vertices", "10", "vertices of the graph, numbered from 0"),
        Parameter::new("source", "0", "the vertex from which distances are counted"),
        Parameter::new("edges", "20", "edges of each site, where no file says"),
        memory_parameter(),
    ]
}

impl GraphShape {
    pub(super) fn of(
        arguments: &Arguments,
        weight: Option<u16>,
    ) -> Result<GraphShape, ProgramError> {
        let method = memory_method(arguments)?;
        let expected = format!("1 to {ITEMS_MAX}");
        let vertices: u64 = arguments.parsed("vertices", &expected)?;
        if !(1..=ITEMS_MAX).contains(&vertices) {
            return Err(arguments.bad("vertices", &expected));
        }
        let expected = format!("a vertex, 0 to {}", vertices - 1);
        let source: u64 = arguments.parsed("source", &expected)?;
        if source >= vertices {
            return Err(arguments.bad("source", &expected));
        }
        let rows = |site: &str| arguments.equal_rows([site], "edges");
        let site_edges = [rows(SITES[0])?, rows(SITES[1])?];
        let edges = site_edges[0].saturating_add(site_edges[1]);
        if edges > ITEMS_MAX {
            let what = format!("the graph has at most {ITEMS_MAX} edges, not {edges}");
            return Err(ProgramError::Refused(what));
        }
        Ok(GraphShape { vertices, source, method, site_edges, weight })
    }

    pub(super) fn edges(&self) -> u64 {
        self.site_edges.iter().sum()
    }

    /// How many iterations a search takes: each finds a vertex, or follows an edge.
    pub(super) fn iterations(&self) -> u64 {
        self.vertices + self.edges()
    }

    /// Refuses a program that is too large, if each iteration takes so many instructions besides accesses of the
    /// vertices and the edges.
    pub(super) fn check_size(&self, others: u128) -> Result<(), ProgramError> {
        let [vertices, edges] = [self.vertices, self.edges()];
        let accesses = unrolled::access(vertices, 32, 3, self.method)
            + unrolled::access(edges, 16, 2, self.method);
        let all = u128::from(self.iterations()) * (accesses + others);
        unrolled::limited(all, "use fewer vertices or edges")
    }

    pub(super) fn vertex_element(&self) -> ElementType {
        ElementType::unsigned(bits_below(self.vertices))
    }

    fn edge_element(&self) -> ElementType {
        ElementType::unsigned(bits_below(self.edges()))
    }

    fn columns(&self) -> Vec<Column> {
        let end = |name: &str| column(name, self.vertex_element(), Encoding::Number);
        let weight =
            self.weight.map(|bits| column("weight", ElementType::unsigned(bits), Encoding::Number));
        [end("from"), end("to")].into_iter().chain(weight).collect()
    }

    /// The numbers of vertices that edges may have.
    pub(super) fn ranges(&self) -> Vec<ColumnRange> {
        let ends = SITES.iter().flat_map(|site| [(site, 0), (site, 1)]);
        let high = i128::from(self.vertices) - 1;
        ends.map(|(site, column)| ColumnRange { input: site.to_string(), column, low: 0, high })
            .collect()
    }

    /// Random edges of both sites.
    pub(super) fn generate(&self, seed: u64) -> Vec<Table> {
        let mut random = SeededRng::new(seed);
        let table = |edges: u64| {
            let mut table = Table::new(self.columns());
            for _ in 0..edges {
                let ends = [random.below(self.vertices), random.below(self.vertices)];
                let weight = self.weight.map(|bits| random.bits(bits));
                table.push(&ends.map(Lane::from).into_iter().chain(weight).collect::<Vec<_>>());
            }
            table
        };
        self.site_edges.map(table).to_vec()
    }

    /// The edges of both tables in the clear: from, to, and the weight, or 1.
    pub(super) fn clear_edges(&self, inputs: &[Table]) -> Vec<[u64; 3]> {
        let number = |lane: Lane| lane.as_limbs()[0];
        let edges = |table: &Table| -> Vec<[u64; 3]> {
            let weight = |row| self.weight.map_or(1, |_| number(table.cell(row, 2)));
            let edge = |row| [number(table.cell(row, 0)), number(table.cell(row, 1)), weight(row)];
            (0..table.row_count()).map(edge).collect()
        };
        inputs.iter().flat_map(edges).collect()
    }

    /// The edges of both sites by where they begin.
    #[track_caller]
    fn read(&self, tracer: &Tracer) -> Records {
        let [first, second] = [0, 1].map(|site: usize| {
            let mut input = tracer.input(SITES[site], self.site_edges[site]).sorted(1);
            for column in self.columns() {
                input = input.column(column);
            }
            input.read()
        });
        merge(first, second, &SortKey::column(0))
    }
}

/// A graph in memories.
pub(super) struct Graph {
    tracer: Tracer,
    /// By vertex: its distance as far as it is known, its first edge, and whether it has one.
    pub(super) vertices: Memory,
    /// By where they begin: the vertex to which the edge leads, its weight if it has one, and whether it is the last of
    /// its vertex.
    pub(super) edges: Memory,
    /// Numbers of edges.
    pub(super) edge_element: ElementType,
}

impl Graph {
    /// Reads the edges; distances are `elsewhere`, but for the source, where they are `at_source`.
    #[track_caller]
    pub(super) fn new(tracer: &Tracer, shape: &GraphShape, distances: &Distances) -> Graph {
        let edges = shape.read(tracer);
        let layout = layout(tracer, shape, &edges);
        let lanes = lanes_for(distances.element.width());
        let initial = (0..shape.vertices).map(|vertex| match vertex == shape.source {
            true => distances.at_source,
            false => distances.elsewhere,
        });
        let initial = public_column(tracer, distances.element, lanes, initial);
        let columns = [vec![initial], layout.into_columns()].concat();
        let elements = [distances.element, shape.edge_element(), ElementType::BIT];
        let lanes = elements.iter().map(|element| lanes_for(element.width())).min();
        let lanes = lanes.expect("there are columns");
        let vertices = Records::from_pieces(tracer, lanes, &elements, columns);
        Graph {
            tracer: tracer.clone(),
            vertices: Memory::named("vertices", vertices, shape.method),
            edges: Memory::named("edges", followed(tracer, shape, edges), shape.method),
            edge_element: shape.edge_element(),
        }
    }
}

/// How the distances of a memory begin.
pub(super) struct Distances {
    pub(super) element: ElementType,
    pub(super) at_source: Lane,
    pub(super) elsewhere: Lane,
}

/// Public numbers in chunks of `lanes`.
#[track_caller]
pub(super) fn public_column(
    tracer: &Tracer,
    element: ElementType,
    lanes: u32,
    numbers: impl IntoIterator<Item = Lane>,
) -> Vec<Value> {
    let numbers = numbers.into_iter().map(|number| tracer.constant(element, number));
    rechunk(numbers, lanes)
}

/// What a search reads of the edges: where they lead, their weight, and whether the next begins elsewhere.
#[track_caller]
fn followed(tracer: &Tracer, shape: &GraphShape, edges: Records) -> Records {
    let bit = |bit: u8| tracer.constant(ElementType::BIT, Lane::from(bit));
    let elements = [&edges.elements()[1..], &[ElementType::BIT]].concat();
    let lanes = edges.chunk_lanes();
    if shape.edges() == 0 {
        // A memory has a row. No vertex has an edge, so nothing depends on it.
        let zero = |element: &ElementType| vec![tracer.constant(*element, Lane::ZERO)];
        return Records::from_columns(tracer, lanes, elements.iter().map(zero).collect());
    }
    let mut last = adjacent(&edges, |edge, next| edge[0].ne(&next[0]));
    last.push(bit(1));
    let mut columns = edges.into_columns();
    columns.remove(0);
    columns.push(last);
    Records::from_pieces(tracer, lanes, &elements, columns)
}

/// The number of the first edge of each vertex, and whether it has one.
#[track_caller]
fn layout(tracer: &Tracer, shape: &GraphShape, edges: &Records) -> Records {
    let (vertex, edge) = (shape.vertex_element(), shape.edge_element());
    // Rows are compared by a vertex and a bit.
    let lanes = lanes_for(edge.width().max(vertex.width() + 1));
    let elements = [vertex, ElementType::BIT];
    // Edges follow the vertex where they begin.
    let kind = |bit: u8, rows: u64| -> Vec<Value> {
        let bit = tracer.constant(ElementType::BIT, Lane::from(bit));
        let full = (0..rows / u64::from(lanes)).map(|_| bit.tile(lanes));
        let rest = (rows % u64::from(lanes)) as u32;
        full.chain((rest > 0).then(|| bit.tile(rest))).collect()
    };
    let numbers = public_column(tracer, vertex, lanes, (0..shape.vertices).map(Lane::from));
    let columns = vec![numbers, kind(0, shape.vertices)];
    let vertices = Records::from_pieces(tracer, lanes, &elements, columns);
    let columns = vec![edges.chunks(0).to_vec(), kind(1, shape.edges())];
    let edges = Records::from_pieces(tracer, lanes, &elements, columns);
    let merged = merge(vertices, edges, &SortKey::column(0).then(SortKey::column(1)));
    // Before a vertex stand as many edges as rows, without the vertices of smaller numbers.
    let places = public_column(
        tracer,
        edge,
        lanes,
        (0..merged.rows()).map(|row| Lane::from(row) & mask_of(edge.width())),
    );
    let before = places.iter().zip(merged.chunks(0));
    let before = before.map(|(place, vertex)| place.sub(&vertex.cast(edge))).collect();
    let mut any = adjacent(&merged, |_, next| next[1].clone());
    any.push(tracer.constant(ElementType::BIT, Lane::ZERO));
    let is_vertex = merged.chunks(1).iter().map(Value::not).collect();
    let columns = vec![is_vertex, before, any];
    let elements = [ElementType::BIT, edge, ElementType::BIT];
    let rows = Records::from_pieces(tracer, lanes, &elements, columns);
    let is_vertex = rows.column::<Bit>(0);
    let mut columns = rows.into_columns();
    columns.remove(0);
    let rows = Records::from_columns(tracer, lanes, columns);
    compact(rows, &is_vertex).0.slice(0, shape.vertices)
}

/// Where a search stands: between two vertices, or at an edge of one.
pub(super) struct SearchState {
    /// Whether the next vertex is wanted, rather than the next edge.
    pub(super) wants_vertex: Value,
    /// Distance of the vertex whose edges are followed.
    pub(super) distance: Value,
    /// The edge that is followed next.
    edge: Value,
}

impl SearchState {
    #[track_caller]
    pub(super) fn new(tracer: &Tracer, graph: &Graph, distance: ElementType) -> SearchState {
        SearchState {
            wants_vertex: tracer.constant(ElementType::BIT, Lane::ONE),
            distance: tracer.constant(distance, Lane::ZERO),
            edge: tracer.constant(graph.edge_element, Lane::ZERO),
        }
    }

    /// The cells of the edge that is followed next, which mean nothing where a vertex is wanted.
    #[track_caller]
    pub(super) fn follow(&self, graph: &mut Graph) -> Vec<Value> {
        graph.edges.read(&self.edge)
    }

    /// Goes on to the edges of the vertex of `row` if there is one, which `found` says, at `distance`, or to the edge
    /// after one of which `is_last` says whether it is the last.
    #[track_caller]
    pub(super) fn advance(
        &mut self,
        found: &Value,
        distance: &Value,
        row: &[Value],
        is_last: &Value,
    ) {
        let next = self.edge.add(&self.edge.tracer().constant(self.edge.integer(), Lane::ONE));
        self.distance = found.select(distance, &self.distance);
        self.edge = found.select(&row[1], &next);
        self.wants_vertex = self.wants_vertex.select(&found.and(&row[2]).not(), is_last);
    }
}

/// The columns of the result: each vertex, whether it can be reached, and its distance, or 0.
fn result_columns(shape: &GraphShape, distance: ElementType) -> Vec<Column> {
    vec![
        column("vertex", shape.vertex_element(), Encoding::Number),
        column("reached", ElementType::BIT, Encoding::Number),
        column("distance", distance, Encoding::Number),
    ]
}

/// Outputs what `result` makes of the distance of each vertex.
#[track_caller]
pub(super) fn give_out(
    output: OutputBuilder,
    shape: &GraphShape,
    mut graph: Graph,
    distance: ElementType,
    result: impl Fn(&Value) -> [Value; 2],
) {
    let mut rows = output.rows(&result_columns(shape, distance), shape.vertices);
    let numbers = |lanes: u32| {
        let numbers = (0..shape.vertices).map(Lane::from);
        public_column(&graph.tracer, shape.vertex_element(), lanes, numbers)
    };
    let lanes = lanes_for(distance.width().max(shape.vertex_element().width()));
    let (single, chunks) = (numbers(1), numbers(lanes));
    let distances: Vec<Value> =
        single.iter().map(|vertex| graph.vertices.read(vertex).swap_remove(0)).collect();
    for (vertices, distances) in chunks.iter().zip(rechunk(distances, lanes)) {
        let [reached, distance] = result(&distances);
        rows.push(&[vertices, &reached, &distance]);
    }
    rows.finish();
}

/// The result for distances in the clear.
pub(super) fn clear_result(
    shape: &GraphShape,
    distance: ElementType,
    distances: &[Option<u64>],
) -> Table {
    let mut table = Table::new(result_columns(shape, distance));
    for (vertex, distance) in distances.iter().enumerate() {
        let reached = Lane::from(distance.is_some());
        table.push(&[Lane::from(vertex), reached, Lane::from(distance.unwrap_or_default())]);
    }
    table
}

//! Random C programs without undefined behaviour: casts between widths, shifts, arrays at public
//! and secret places, structures, pointers, branches and loops on secrets, loops that carry scalars
//! and memory from one iteration to the next.
//!
//! Sums wrap (`-fwrapv`), shifts are by less than the width, divisors are 1 to 16, indices are
//! masked, all variables are set. Expressions have no side effects.

/// SplitMix64 (Steele, Lea, Flood, 2014).
pub(super) struct TestRng(pub(super) u64);

impl TestRng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(super) fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

const TYPES: [&str; 8] =
    ["int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t"];
/// Elements of each array.
const LENGTH: u64 = 8;
const ARRAYS: u64 = 4;
const SCALARS: u64 = 5;

struct Program {
    random: TestRng,
    text: String,
    /// The type of each array and each scalar.
    arrays: Vec<&'static str>,
    /// Loop indices, which are public.
    indices: Vec<String>,
    /// Loops that a `break` would leave.
    loops: u32,
    names: u32,
    helpers: u32,
    /// Whether it is in a function that has none of the variables.
    is_helper: bool,
    /// Whether it is in a loop whose number of iterations is opened: nothing may be allocated there.
    in_opened_loop: bool,
}

/// The program of a seed.
pub fn program(seed: u64) -> String {
    let mut random = TestRng(seed);
    let arrays = (0..ARRAYS).map(|_| random.of(&TYPES)).collect();
    let (indices, text) = (Vec::new(), String::new());
    let mut program = Program {
        random,
        text,
        arrays,
        indices,
        loops: 0,
        names: 0,
        helpers: 0,
        is_helper: false,
        in_opened_loop: false,
    };
    program.whole();
    program.text
}

impl Program {
    fn line(&mut self, text: &str) {
        self.text += text;
        self.text.push('\n');
    }

    fn whole(&mut self) {
        self.line("#include <phineus.h>\n#include <stdlib.h>");
        let fields: Vec<&str> = (0..3).map(|_| self.random.of(&TYPES)).collect();
        let (a, b, c) = (fields[0], fields[1], fields[2]);
        self.line(&format!("struct s {{ {a} f; {b} g[2]; {c} h; }};"));
        for _ in 0..2 {
            self.helper();
        }
        self.line("PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(a) const int8_t *n,");
        self.line("  PH_IN(b) const int16_t y[8], PH_IN(b) PH_RANGE(0, 9) const uint64_t *m,");
        self.line("  PH_OUT(a, b) uint64_t r[48])");
        self.line("{");
        for k in 0..SCALARS {
            let (typ, value) = (self.random.of(&TYPES), self.input());
            self.line(&format!("{typ} v{k} = {value};"));
        }
        for k in 0..ARRAYS {
            let typ = self.arrays[k as usize];
            self.line(&format!("{typ} a{k}[8];"));
            let from = self.random.of(&["x[i]", "y[i]", "i * 37 - 90", "x[i] + y[7 - i]"]);
            self.line(&format!("for (int i = 0; i < 8; i++) a{k}[i] = {from};"));
        }
        for name in ["s", "t"] {
            let (f, g, h) = (self.input(), self.input(), self.input());
            self.line(&format!("struct s {name} = {{ {f}, {{ {g}, 5 }}, {h} }};"));
        }
        for _ in 0..10 {
            match self.random.below(8) {
                0 => self.revealed(),
                1 => self.pattern(),
                2 => self.carried(),
                3 => self.handed_on(),
                _ => self.statement(3),
            }
        }
        for k in 0..SCALARS {
            self.line(&format!("r[{k}] = v{k};"));
        }
        self.line("r[5] = s.f; r[6] = s.g[0]; r[7] = s.g[1]; r[8] = s.h;");
        self.line("r[9] = t.f; r[10] = t.g[0]; r[11] = t.g[1]; r[12] = t.h;");
        for k in 0..ARRAYS {
            let first = 13 + 8 * k;
            self.line(&format!("for (int i = 0; i < 8; i++) r[{first} + i] = a{k}[i];"));
        }
        self.line("for (int i = 45; i < 48; i++) r[i] = i;");
        self.line("}");
    }

    fn input(&mut self) -> String {
        let k = self.random.below(8);
        let all = [format!("x[{k}]"), format!("y[{k}]"), "*n".into(), "*m".into(), k.to_string()];
        all[self.random.below(5) as usize].clone()
    }

    /// A function of two integers, with returns that a secret decides.
    fn helper(&mut self) {
        let (result, p, q) =
            (self.random.of(&TYPES), self.random.of(&TYPES), self.random.of(&TYPES));
        let k = self.helpers;
        self.is_helper = true;
        self.line(&format!("static {result} h{k}({p} p, {q} q) {{"));
        let (first, second) = (self.condition(1), self.condition(1));
        let (a, b, c) = (self.expression(2), self.expression(2), self.expression(2));
        match self.random.below(3) {
            0 => self.line(&format!("if ({first}) return {a};\nif ({second}) return {b};")),
            1 => self.line(&format!(
                "for (int i = 0; i < 4; i++) {{ p += i; if ({first}) return {a}; q ^= {b}; }}"
            )),
            _ => self.line(&format!(
                "switch (p & 3) {{ case 0: q += 3; case 1: return {a}; \
                                     case 2: p = {b}; break; default: q--; }}"
            )),
        }
        self.line(&format!("return {c};\n}}"));
        let typ = self.random.of(&TYPES);
        let (test, value) = (self.condition(1), self.expression(1));
        self.line(&format!(
            "static void w{k}({typ} *to, {p} p, {q} q) {{ if ({test}) *to = {value}; \
             else to[0]++; }}"
        ));
        self.line(&format!("#define W{k} {typ}"));
        self.is_helper = false;
        self.helpers += 1;
    }

    /// An index below the length of arrays.
    fn index(&mut self, depth: u32) -> String {
        match self.random.below(4) {
            0 => self.random.below(LENGTH).to_string(),
            1 | 2 if !self.indices.is_empty() => {
                let at = self.random.below(self.indices.len() as u64) as usize;
                let index = self.indices[at].clone();
                match self.random.below(3) {
                    0 => format!("(7 - {index})"),
                    _ => index,
                }
            }
            _ => format!("({} & 7)", self.expression(depth.min(1))),
        }
    }

    fn leaf(&mut self) -> String {
        if self.is_helper {
            let k = self.random.below(100).to_string();
            return self.random.of(&["p", "q", "p", "q", &k]).to_owned();
        }
        match self.random.below(9) {
            0 => self.random.below(300).to_string(),
            1 => {
                self.random.of(&["-1", "0x80000000u", "255", "-128", "65535", "1ull << 40"]).into()
            }
            2 | 3 => format!("v{}", self.random.below(SCALARS)),
            4 | 5 => format!("a{}[{}]", self.random.below(ARRAYS), self.index(0)),
            6 => self.random.of(&["s.f", "s.g[0]", "s.g[*n & 1]", "t.g[1]", "t.h", "s.h"]).into(),
            7 if !self.indices.is_empty() => {
                let at = self.random.below(self.indices.len() as u64) as usize;
                self.indices[at].clone()
            }
            _ => self.input(),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let (a, b) = (self.expression(depth), self.expression(depth));
        let compare = self.random.of(&["<", "<=", ">", ">=", "==", "!="]);
        match self.random.below(5) {
            0 => format!("({a}) & 1"),
            1 => format!("({a}) {compare} ({b}) && ({b}) > 3"),
            2 => format!("!({a}) || ({a}) {compare} ({b})"),
            _ => format!("({a}) {compare} ({b})"),
        }
    }

    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 {
            return format!("({})", self.leaf());
        }
        let typ = self.random.of(&TYPES);
        let a = self.expression(depth - 1);
        if self.random.below(5) == 0 {
            return a;
        }
        // One value as both operands, once in eight times.
        let b = match self.random.below(8) {
            0 => a.clone(),
            _ => self.expression(depth - 1),
        };
        let amount = self.random.below(31) + 1;
        match self.random.below(16) {
            0..=5 => format!("({a} {} {b})", self.random.of(&["+", "-", "*", "&", "|", "^"])),
            6 => format!("({a} << ({b} & 7))"),
            7 => format!("((uint32_t){a} >> ({b} & 31))"),
            8 => format!("((int32_t){a} >> {amount})"),
            9 => format!("(({typ}){a} {} ({typ})(({b} & 15) + 1))", self.random.of(&["/", "%"])),
            10 => format!("({} ? {a} : {b})", self.condition(depth - 1)),
            11 => format!("({typ}){a}"),
            12 => format!("({}{a})", self.random.of(&["-", "~", "!"])),
            13 => {
                let rest = 32 - amount;
                format!("((uint32_t){a} << {amount} | (uint32_t){a} >> {rest})")
            }
            14 if self.helpers > 0 && !self.is_helper => {
                format!("h{}({a}, {b})", self.random.below(self.helpers.into()))
            }
            14 => format!("({a} < {b} ? {a} : {b})"),
            _ => {
                let calls = ["__builtin_popcount((uint32_t)", "__builtin_bswap32((uint32_t)"];
                format!("{}{a})", self.random.of(&calls))
            }
        }
    }

    fn target(&mut self) -> String {
        match self.random.below(6) {
            0 | 1 => format!("v{}", self.random.below(SCALARS)),
            2 => self.random.of(&["s.f", "s.g[1]", "t.g[*m & 1]", "t.h"]).into(),
            _ => format!("a{}[{}]", self.random.below(ARRAYS), self.index(1)),
        }
    }

    fn block(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(2) {
            self.statement(depth - 1);
        }
    }

    fn statement(&mut self, depth: u32) {
        if depth == 0 {
            return self.assignment();
        }
        match self.random.below(14) {
            0..=3 => self.assignment(),
            4 | 5 => {
                let condition = self.condition(1);
                self.line(&format!("if ({condition}) {{"));
                self.block(depth);
                if self.random.below(2) == 0 {
                    self.line("} else {");
                    self.block(depth);
                }
                self.line("}");
            }
            6 | 7 => self.repeat(depth),
            8 => {
                let value = self.expression(1);
                self.line(&format!("switch (({value}) & 3) {{ case 0:"));
                self.block(depth);
                let ends = self.random.of(&["break;", ""]);
                self.line(&format!("{ends} case 2:"));
                self.block(depth);
                self.line("break; default:");
                self.block(depth);
                self.line("}");
            }
            9 => self.copy(),
            10 if self.random.below(2) == 0 => self.carried(),
            10 => self.handed_on(),
            _ => self.pointer(),
        }
    }

    fn assignment(&mut self) {
        let (target, value) = (self.target(), self.expression(3));
        let op = self.random.of(&["=", "=", "=", "+=", "-=", "*=", "^=", "|=", "&="]);
        self.line(&format!("{target} {op} {value};"));
        if self.loops > 0 && self.random.below(6) == 0 {
            let (leave, condition) = (self.random.of(&["break", "continue"]), self.condition(0));
            self.line(&format!("if ({condition}) {leave};"));
        }
    }

    fn repeat(&mut self, depth: u32) {
        let index = format!("i{}", self.names);
        self.names += 1;
        let count = [2, 3, 4, 8][self.random.below(4) as usize].min(if depth < 3 { 4 } else { 8 });
        let more = match self.random.below(4) {
            0 => format!(" && {}", self.condition(0).replace(" && ", " & ").replace(" || ", " | ")),
            _ => String::new(),
        };
        self.line(&format!("for (int {index} = 0; {index} < {count}{more}; {index}++) {{"));
        self.indices.push(index);
        self.loops += 1;
        // A `break` in a `switch` leaves only that.
        self.block(depth);
        self.loops -= 1;
        self.indices.pop();
        self.line("}");
    }

    /// Control flow on what is opened, which nothing secret decides.
    fn revealed(&mut self) {
        let condition = self.condition(1);
        let kind = self.random.below(3);
        match kind {
            0 => self.line(&format!("if (ph_reveal((uint8_t)({condition}))) {{")),
            1 => {
                let index = format!("i{}", self.names);
                self.names += 1;
                self.line(&format!(
                    "for (int {index} = 0; {index} < 5 && \
                     ph_reveal((uint8_t)({condition})); {index}++) {{"
                ));
            }
            _ => {
                let value = self.expression(1);
                let count = format!("n{}", self.names);
                self.names += 1;
                self.line(&format!(
                    "for (int {count} = ph_reveal((uint8_t)({value})) & 7; \
                     {count} > 0; {count}--) {{"
                ));
            }
        }
        let was_in_opened_loop = self.in_opened_loop;
        self.in_opened_loop |= kind != 0;
        self.block(3);
        self.in_opened_loop = was_in_opened_loop;
        self.line("}");
    }

    /// Loops that run in lanes: reductions, contests, maps, two dimensions, branches on the index.
    fn pattern(&mut self) {
        let k = self.names;
        self.names += 1;
        let index = format!("i{k}");
        self.indices.push(index.clone());
        let (value, other) = (self.expression(2), self.expression(1));
        let (a, target) = (self.random.below(ARRAYS), self.random.below(SCALARS));
        let at = (target + 1) % SCALARS;
        let (typ, condition) = (self.random.of(&TYPES), self.condition(1));
        let compare = self.random.of(&["<", "<=", ">", ">="]);
        let op = self.random.of(&["+=", "^=", "|=", "&=", "*=", "-="]);
        let head = format!("for (int {index} = 0; {index} < 8; {index}++)");
        let (b, terms) = (self.random.below(ARRAYS), self.random.below(2) + 1);
        let b = if self.random.below(2) == 0 { a } else { b };
        let line = match self.random.below(8) {
            0 => format!("{head} v{target} {op} {value};"),
            1 => format!(
                "{head} {{ {typ} e = {value}; if (e {compare} v{target}) {{ \
                 v{target} = e; v{at} = {index}; }} }}"
            ),
            2 => format!("{head} a{a}[{index}] {op} {value};"),
            3 => format!(
                "{head} if ({condition}) a{a}[{index}] = {value}; else v{target} += {other};"
            ),
            4 => format!(
                "{{ {typ} grid[5][8]; for (int j = 0; j < 5; j++) {head} \
                 grid[j][{index}] = {value} + j;\n\
                 {head} for (int j = 0; j < 5; j++) \
                 a{a}[{index}] {op} grid[j][{index}] * {other};\n\
                 v{target} += grid[3][*n & 7]; }}"
            ),
            // A product of matrices, half of the time of a vector with itself.
            7 => format!(
                "{{ {typ} g{k}[8][8]; for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) {{ \
                 g{k}[i][j] = 0; for (int l = 0; l < {terms}; l++) \
                 g{k}[i][j] += ({typ})a{a}[i] * ({typ})a{b}[j]; }}\n\
                 {head} v{target} {op} g{k}[{index}][7 - {index}] < {other} ? \
                 g{k}[{index}][{index}] : {value}; }}"
            ),
            5 => format!(
                "{head} if ({index} == 0) a{a}[{index}] = {value}; else if ({index} < 6) \
                 a{a}[{index}] {op} {other}; else v{target}++;"
            ),
            _ => format!(
                "{head} {{ {typ} e = {value}; v{target} = e {compare} v{target} ? e : v{target}; }}"
            ),
        };
        self.indices.pop();
        self.line(&line);
    }

    /// Loops that carry several scalars, which take each other's values: rotated, accumulated, the
    /// best so far, some of them in one loop and some in one inside it; some stored on the way.
    fn carried(&mut self) {
        let k = self.names;
        self.names += 1;
        let (count, typ) = (2 + self.random.below(3), self.random.of(&TYPES));
        self.line("{");
        for at in 0..count {
            let start = if self.random.below(2) == 0 { "0".into() } else { self.input() };
            self.line(&format!("{typ} c{k}_{at} = {start};"));
        }
        let (index, inner) = (format!("i{k}"), format!("j{k}"));
        self.indices.push(index.clone());
        let turns = 4 + self.random.below(5);
        let is_last = self.random.below(3) == 0;
        self.line(&match is_last {
            true => format!("int {index} = 0; do {{"),
            false => format!("for (int {index} = 0; {index} < {turns}; {index}++) {{"),
        });
        let (is_nested, before) = (self.random.below(3) == 0, self.random.below(2) == 0);
        if !is_nested || before {
            self.updates(k, count, typ);
        }
        if is_nested {
            let turns = 2 + self.random.below(4);
            self.line(&format!("for (int {inner} = 0; {inner} < {turns}; {inner}++) {{"));
            self.indices.push(inner);
            self.updates(k, count, typ);
            self.indices.pop();
            self.line("}");
            if !before {
                self.updates(k, count, typ);
            }
        }
        if self.random.below(4) == 0 {
            let (a, one) = (self.random.below(ARRAYS), self.random.below(count));
            self.line(&format!("a{a}[{index} & 7] ^= c{k}_{one};"));
        }
        self.line(&match is_last {
            true => format!("}} while (++{index} < {turns});"),
            false => "}".into(),
        });
        self.indices.pop();
        for at in 0..count {
            let target = self.random.below(SCALARS);
            self.line(&format!("v{target} = v{target} * 3 + c{k}_{at};"));
        }
        self.line("}");
    }

    /// New values of what a loop carries, most of them from the values before; the others stay.
    fn updates(&mut self, k: u32, count: u64, typ: &str) {
        let (mut made, mut given) = (String::new(), String::new());
        let condition = self.condition(0);
        for at in 0..count {
            let from = self.random.below(count);
            let other = self.random.below(count);
            let value = self.expression(1);
            let op = self.random.of(&["+", "+", "-", "^", "*", "&", "|"]);
            let compare = self.random.of(&["<", ">", "<=", ">="]);
            let (left, right) = (self.random.below(8), self.random.below(8));
            let new = match self.random.below(11) {
                0 | 1 => format!("c{k}_{from}"),
                2 | 3 => format!("c{k}_{at} {op} {value}"),
                4 => format!("c{k}_{from} {op} {value}"),
                5 => format!("c{k}_{at} {op} c{k}_{other}"),
                6 => format!("({condition}) ? c{k}_{from} : c{k}_{at}"),
                7 => format!("({typ}){value} {compare} c{k}_{other} ? ({typ}){value} : c{k}_{at}"),
                8 | 9 => {
                    format!("(c{k}_{from} >> {right}) {op} (({typ})((uint8_t){value}) << {left})")
                }
                _ => continue,
            };
            made += &format!("{typ} n{at} = {new}; ");
            given += &format!("c{k}_{at} = n{at}; ");
        }
        self.line(&format!("{{ {made}{given}}}"));
    }

    /// Memory that iterations hand on: delay lines, rings, a scratch array that is set only where
    /// a secret says so, objects that a loop allocates.
    fn handed_on(&mut self) {
        let k = self.names;
        self.names += 1;
        let (index, inner) = (format!("i{k}"), format!("j{k}"));
        let (typ, head) =
            (self.random.of(&TYPES), format!("for (int {index} = 0; {index} < 8; {index}++)"));
        let length = 2 + self.random.below(3);
        self.indices.push(index.clone());
        let (value, condition) = (self.expression(2), self.condition(1));
        self.indices.pop();
        let (a, target, step) =
            (self.random.below(ARRAYS), self.random.below(SCALARS), self.random.below(length));
        let op = self.random.of(&["+=", "|=", "^="]);
        let inside = format!("for (int {inner} = 0; {inner} < {length}; {inner}++)");
        let line = match self.random.below(5) {
            0 => format!(
                "{typ} d[{length}] = {{0}}; {head} {{ {typ} o = d[0]; \
                 for (int {inner} = 0; {inner} + 1 < {length}; {inner}++) \
                 d[{inner}] = d[{inner} + 1];\nd[{length} - 1] = {value}; a{a}[{index}] += o; }}"
            ),
            1 => format!(
                "{typ} d[{length}] = {{{step} / 2}}; {head} {{ d[{index} % {length}] {op} ({value}) << {step}; \
                 v{target} ^= d[({index} + {step}) % {length}]; }}"
            ),
            2 => format!(
                "{typ} d[{length}]; {head} {inside} if ({index} == 0 || ({condition})) \
                 d[{inner}] = {value} + {inner};\n{inside} v{target} = v{target} * 5 + d[{inner}];"
            ),
            3 if self.in_opened_loop => format!(
                "{typ} *p[8], d[8]; {head} {{ p[{index}] = &d[{index}]; \
                 *p[{index}] = {value}; }}\n{head} a{a}[{index}] ^= *p[7 - {index}];"
            ),
            3 => format!(
                "{typ} *p[8]; {head} {{ p[{index}] = malloc(sizeof({typ})); \
                 *p[{index}] = {value}; }}\n{head} a{a}[{index}] ^= *p[7 - {index}];"
            ),
            _ => format!(
                "{head} {{ {typ} d[{length}]; {inside} if (({condition}) || {inner} == {step}) \
                 d[{inner}] = {value}; a{a}[{index}] += d[{step}]; }}"
            ),
        };
        self.line(&format!("{{ {line} }}"));
    }

    fn copy(&mut self) {
        let (a, b) = (self.random.below(ARRAYS), self.random.below(ARRAYS));
        let (condition, byte) = (self.condition(0), self.expression(0));
        let line = match self.random.below(6) {
            0 => format!("memcpy(&a{a}[{}], x, sizeof a{a}[0]);", self.random.below(8)),
            1 => format!("memset(a{a}, {byte}, 3 * sizeof *a{a});"),
            2 => "s = t;".into(),
            3 => format!("if ({condition}) t = s;"),
            4 => format!("{{ struct s u = {condition} ? s : t; u.g[0]++; s = u; }}"),
            _ if a != b => format!(
                "memcpy(a{a}, a{b}, sizeof a{a} < sizeof a{b} ? sizeof a{a} : sizeof a{b});"
            ),
            _ => format!("memmove(a{a} + 1, a{a}, 5 * sizeof *a{a});"),
        };
        self.line(&line);
    }

    fn pointer(&mut self) {
        let (a, b) = (self.random.below(ARRAYS), self.random.below(ARRAYS));
        let (i, j) = (self.index(1), self.index(1));
        let (condition, value) = (self.condition(1), self.expression(1));
        let typ = self.arrays[a as usize];
        let other = match self.arrays[b as usize] == typ {
            true => format!("&a{b}[{j}]"),
            false => format!("&a{a}[{j}]"),
        };
        let line = match self.random.below(4) {
            0 => format!("{{ {typ} *p = {condition} ? &a{a}[{i}] : {other}; *p ^= {value}; }}"),
            1 => format!(
                "{{ {typ} *p = a{a}; if ({condition}) p += 3; if ({value} & 1) p++; \
                 p[1] += p[3]; }}"
            ),
            2 => {
                let k = self.random.below(self.helpers.into());
                format!("{{ W{k} z = {value}; w{k}(&z, a{a}[{i}], *({other})); v0 += z; }}")
            }
            _ => format!("{{ {typ} c = a{a}[{i}]; a{a}[{i}] = *({other}); *({other}) = c; }}"),
        };
        self.line(&line);
    }
}

//! Random C programs without undefined behaviour that read and write large arrays at secret indices: under secret
//! conditions, in loops that a secret leaves, through pointers, between public writes, copies and passes over
//! whole arrays.

use super::random::TestRng;

/// Elements of each array.
const LENGTHS: [u64; 4] = [300, 512, 257, 280];
const SCALARS: u64 = 4;

struct Accesses {
    random: TestRng,
    text: String,
    /// Loops that are open.
    loops: u64,
    names: u64,
}

/// The program of a seed.
pub fn program(seed: u64) -> String {
    let mut program = Accesses { random: TestRng(seed), text: String::new(), loops: 0, names: 0 };
    program.whole();
    program.text
}

impl Accesses {
    fn line(&mut self, text: &str) {
        self.text += text;
        self.text.push('\n');
    }

    fn whole(&mut self) {
        self.line("#include <phineus.h>\n#include <stdlib.h>");
        let types = ["uint8_t", "int16_t", "uint32_t", "int64_t"];
        let [a, b, f, g] = [0; 4].map(|_| self.random.of(&types));
        self.line(&format!("struct s {{ {f} f; {g} g; }};\nstatic {b} a1[512];"));
        self.line(&format!("static void swap({a} *p, {a} *q) {{ {a} c = *p; *p = *q; *q = c; }}"));
        self.line(&format!(
            "static uint32_t near({a} *p, uint32_t i, uint32_t v) {{ \
             if (v & 1) p[i] += v; else p[i + 1] = p[i]; return p[i] ^ v; }}"
        ));
        self.line("PH_MAIN void f(PH_IN(a) const uint32_t x[8], PH_IN(b) const int16_t a2[257],");
        self.line("  PH_OUT(a, b) uint64_t r[12])\n{");
        for k in 0..SCALARS {
            self.line(&format!("uint32_t v{k} = x[{k}];"));
        }
        let start = self.random.of(&["i * 7", "a2[i % 257]", "0", "x[i & 7] + i"]);
        self.line(&format!("{a} a0[300];\nfor (int i = 0; i < 300; i++) a0[i] = {start};"));
        let start = self.random.of(&["{ 0, 3 }", "a2[i % 257]", "i"]);
        self.line("struct s a3[280];\nfor (int i = 0; i < 280; i++) {");
        self.line(&match start {
            "{ 0, 3 }" => "a3[i].f = 0; a3[i].g = 3; }".to_owned(),
            start => format!("a3[i].f = {start}; a3[i].g = x[i & 7]; }}"),
        });
        for _ in 0..4 + self.random.below(6) {
            self.statement(3);
        }
        for k in 0..SCALARS {
            self.line(&format!("r[{k}] = v{k};"));
        }
        self.line("uint64_t h = 0;");
        self.line("for (int i = 0; i < 300; i++) h = (h ^ a0[i]) + (h << 5);\nr[4] = h;");
        self.line("for (int i = 0; i < 512; i++) h = (h ^ a1[i]) + (h << 5);\nr[5] = h;");
        self.line("for (int i = 0; i < 280; i++) h = (h ^ a3[i].f) + (h << 5);\nr[6] = h;");
        self.line("for (int i = 0; i < 280; i++) h = (h ^ a3[i].g) + (h << 5);\nr[7] = h;");
        self.line("r[8] = a0[299]; r[9] = a1[0]; r[10] = a3[7].f; r[11] = a3[8].g;\n}");
    }

    fn scalar(&mut self) -> String {
        format!("v{}", self.random.below(SCALARS))
    }

    /// A secret index of an array, or now and then a public one.
    fn index(&mut self, array: usize) -> String {
        let (v, w) = (self.scalar(), self.scalar());
        if self.loops > 0 && self.random.below(6) == 0 {
            return format!("(i{} * 5)", self.random.below(self.loops));
        }
        match self.random.below(10) {
            0 => self.random.below(LENGTHS[array]).to_string(),
            // A part of the array.
            1 => format!("(({v} & 63) + 9)"),
            2 => format!("({v} & 255)"),
            3 => format!("(({v} ^ {w}) & 1 ? {v} & 127 : 200)"),
            4 => format!("(uint8_t){v}"),
            5 if array == 1 => format!("({v} * 3 & 511)"),
            _ => format!("({v} % {})", LENGTHS[array]),
        }
    }

    fn element(&mut self) -> String {
        let array = self.random.below(4) as usize;
        let index = self.index(array);
        self.at(array, &index)
    }

    fn at(&mut self, array: usize, index: &str) -> String {
        let field = if array == 3 { self.random.of(&[".f", ".g"]) } else { "" };
        format!("a{array}[{index}]{field}")
    }

    /// An element of an array that may be written to.
    fn target(&mut self) -> String {
        let array = [0, 0, 1, 3][self.random.below(4) as usize];
        let index = self.index(array);
        self.at(array, &index)
    }

    fn expression(&mut self) -> String {
        let (v, w) = (self.scalar(), self.scalar());
        match self.random.below(6) {
            0 => self.element(),
            1 => format!("({} + {v})", self.element()),
            2 => format!("({v} * 5 + {w})"),
            3 => format!("({v} >> 3)"),
            4 => self.random.below(1000).to_string(),
            _ => format!("({v} ^ x[{}])", self.random.below(8)),
        }
    }

    fn condition(&mut self) -> String {
        let (a, v, w) = (self.expression(), self.scalar(), self.scalar());
        match self.random.below(4) {
            0 => format!("({a} & 1)"),
            1 => format!("({v} < {w} && {a} > 20)"),
            2 => format!("({a} > {v})"),
            _ => format!("({v} & {})", 1 << self.random.below(5)),
        }
    }

    fn block(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(3) {
            self.statement(depth - 1);
        }
    }

    fn statement(&mut self, depth: u32) {
        match self.random.below(if depth > 0 { 14 } else { 8 }) {
            0 | 1 => {
                let (v, e) = (self.scalar(), self.expression());
                self.line(&format!("{v} = {e};"));
            }
            2..=4 => {
                let (target, e) = (self.target(), self.expression());
                let op = self.random.of(&["=", "=", "+=", "^=", "-="]);
                self.line(&format!("{target} {op} {e};"));
            }
            5 => self.whole_arrays(),
            6 => {
                let (i, j) = (self.index(0), self.index(0));
                self.line(&format!("swap(&a0[{i}], &a0[{j}]);"));
            }
            7 => {
                let (v, e) = (self.scalar(), self.expression());
                self.line(&format!("{v} += near(a0, ({v} & 255) + 3, {e});"));
            }
            8..=10 => {
                let condition = self.condition();
                self.line(&format!("if ({condition}) {{"));
                self.block(depth);
                if self.random.below(2) == 0 {
                    self.line("} else {");
                    self.block(depth);
                }
                self.line("}");
            }
            11 => {
                let e = self.expression();
                self.line(&format!("switch (({e}) & 3) {{ case 1:"));
                self.block(depth);
                let ends = self.random.of(&["break;", ""]);
                self.line(&format!("{ends} case 2:"));
                self.block(depth);
                self.line("break; default:");
                self.block(depth);
                self.line("}");
            }
            _ => self.repeat(depth),
        }
    }

    fn repeat(&mut self, depth: u32) {
        let index = self.loops;
        let count = 2 + self.random.below(3);
        self.line(&format!("for (int i{index} = 0; i{index} < {count}; i{index}++) {{"));
        self.loops += 1;
        self.block(depth);
        if self.random.below(2) == 0 {
            let (leave, condition) = (self.random.of(&["break", "continue"]), self.condition());
            self.line(&format!("if ({condition}) {leave};"));
            self.block(depth);
        }
        self.loops -= 1;
        self.line("}");
    }

    /// Reads or writes many elements at public places.
    fn whole_arrays(&mut self) {
        let (v, name) = (self.scalar(), self.names);
        self.names += 1;
        let line = match self.random.below(7) {
            0 => format!("for (int k = 0; k < 300; k++) a0[k] += {v};"),
            1 => "memset(a1, 7, sizeof a1);".to_owned(),
            2 => format!("memset(a0 + 20, {v}, 5 * sizeof *a0);"),
            3 => "memcpy(a0, a0 + 100, 60 * sizeof *a0);".to_owned(),
            4 => format!("a3[{}] = a3[11];", self.random.below(280)),
            5 => format!("for (int k = 0; k < 257; k += 9) {v} += a2[k] ^ a1[k];"),
            // An array of a block, which begins anew each time.
            _ => {
                let (i, j, e) = (self.index(0), self.index(0), self.expression());
                format!(
                    "{{ uint16_t b{name}[300]; for (int k = 0; k < 300; k++) b{name}[k] = k; \
                     b{name}[{i}] = {e}; {v} += b{name}[{j}]; }}"
                )
            }
        };
        self.line(&line);
    }
}

//! The types of a function's parameters, from the debug information as LLVM prints it.
//!
//! LLVM's own types know neither signs nor names of fields, and pointers not what they point to.

use std::collections::HashMap;

/// Names of types of fixed-point numbers, before the bits behind the point: of integers whose
/// columns are decimals.
const FIXED: &str = "ph_fixed_";

/// A C type as far as tables need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CType {
    Integer {
        bytes: u64,
        signed: bool,
        is_bool: bool,
        /// Bits behind the point of a fixed-point number.
        fraction: Option<u8>,
    },
    /// `_Float16`, `float` or `double`.
    Float {
        bytes: u64,
    },
    Array(Box<CType>, u64, u64),
    /// Fields with offsets, and the size.
    Struct(Vec<(String, u64, CType)>, u64),
    Pointer(Box<CType>),
    Void,
    Unsupported(String),
}

impl CType {
    /// Bytes that one takes in memory.
    pub(crate) fn size_bytes(&self) -> u64 {
        match self {
            CType::Integer { bytes, .. } | CType::Float { bytes } => *bytes,
            CType::Array(_, _, bytes) | CType::Struct(_, bytes) => *bytes,
            CType::Pointer(_) => 8,
            CType::Void | CType::Unsupported(_) => 0,
        }
    }

    /// Integers that are in it.
    pub(crate) fn scalars(&self) -> u64 {
        match self {
            CType::Array(inner, count, _) => inner.scalars().saturating_mul(*count),
            CType::Struct(fields, _) => {
                fields.iter().fold(0, |all, (_, _, field)| field.scalars().saturating_add(all))
            }
            _ => 1,
        }
    }
}

/// One node of metadata: its kind and fields.
struct DebugNode {
    kind: String,
    fields: HashMap<String, String>,
    items: Vec<String>,
}

/// The debug information of a module.
pub(crate) struct DebugTypes {
    nodes: HashMap<String, DebugNode>,
}

impl DebugTypes {
    /// Reads what `print_to_string` gives.
    pub(crate) fn new(printed: &str) -> DebugTypes {
        let lines = printed.lines().filter(|line| line.starts_with('!'));
        let node = |line: &str| {
            let (name, rest) = line.split_once(" = ")?;
            let rest = rest.trim_start_matches("distinct ");
            if let Some(list) = rest.strip_prefix("!{") {
                let items = list.trim_end_matches('}').split(", ").map(str::to_owned).collect();
                let kind = "list".to_owned();
                return Some((name.to_owned(), DebugNode { kind, fields: HashMap::new(), items }));
            }
            let (kind, rest) = rest.strip_prefix('!')?.split_once('(')?;
            let fields = fields(rest.strip_suffix(')')?);
            Some((name.to_owned(), DebugNode { kind: kind.to_owned(), fields, items: Vec::new() }))
        };
        DebugTypes { nodes: lines.filter_map(node).collect() }
    }

    /// The types of the result and of the named parameters of a function.
    pub(crate) fn signature(&self, function: &str) -> Option<(CType, Vec<(String, CType)>)> {
        let is_it = |node: &DebugNode| {
            node.kind == "DISubprogram"
                && node.text("name") == function
                && node.text("spFlags").contains("DISPFlagDefinition")
        };
        let (name, node) = self.nodes.iter().find(|(_, node)| is_it(node))?;
        let types = self.nodes.get(node.text("type"))?;
        let types = &self.nodes.get(types.text("types"))?.items;
        let mut parameters: Vec<(u32, String, CType)> = Vec::new();
        for variable in self.nodes.values().filter(|node| node.kind == "DILocalVariable") {
            if variable.text("scope") == name
                && let Ok(index) = variable.text("arg").parse()
            {
                let typ = self.typ(variable.text("type"));
                parameters.push((index, variable.text("name").to_owned(), typ));
            }
        }
        parameters.sort_by_key(|(index, _, _)| *index);
        let result = types.first().map_or(CType::Void, |name| self.typ(name));
        Some((result, parameters.into_iter().map(|(_, name, typ)| (name, typ)).collect()))
    }

    fn typ(&self, name: &str) -> CType {
        self.typ_in(name, false)
    }

    /// A type; what pointers within structures point to is left out, as it may be the structure.
    fn typ_in(&self, name: &str, in_structure: bool) -> CType {
        let Some(node) = self.nodes.get(name) else { return CType::Void };
        let bytes = node.number("size") / 8;
        match (node.kind.as_str(), node.text("tag")) {
            ("DIBasicType", _) => match node.text("encoding") {
                "DW_ATE_boolean" => {
                    CType::Integer { bytes, signed: false, is_bool: true, fraction: None }
                }
                "DW_ATE_signed" | "DW_ATE_signed_char" => {
                    CType::Integer { bytes, signed: true, is_bool: false, fraction: None }
                }
                "DW_ATE_unsigned" | "DW_ATE_unsigned_char" => {
                    CType::Integer { bytes, signed: false, is_bool: false, fraction: None }
                }
                "DW_ATE_float" if bytes <= 8 => CType::Float { bytes },
                _ => CType::Unsupported(format!("'{}'", node.text("name"))),
            },
            ("DIDerivedType", "DW_TAG_pointer_type") if in_structure => {
                CType::Pointer(Box::new(CType::Void))
            }
            ("DIDerivedType", "DW_TAG_pointer_type") => {
                CType::Pointer(Box::new(self.typ(node.text("baseType"))))
            }
            ("DIDerivedType", "DW_TAG_typedef") => {
                let mut typ = self.typ_in(node.text("baseType"), in_structure);
                if let CType::Integer { fraction, .. } = &mut typ
                    && let Some(bits) = node.text("name").strip_prefix(FIXED)
                    && let Ok(bits) = bits.parse()
                {
                    *fraction = Some(bits);
                }
                typ
            }
            ("DIDerivedType", _) | ("DICompositeType", "DW_TAG_enumeration_type") => {
                self.typ_in(node.text("baseType"), in_structure)
            }
            ("DICompositeType", "DW_TAG_array_type") => self.array(node, bytes, in_structure),
            ("DICompositeType", "DW_TAG_structure_type") => {
                let members = self.list(node.text("elements"));
                let field = |name: &String| {
                    let field = self.nodes.get(name)?;
                    let is_bits = field.text("flags").contains("DIFlagBitField");
                    let typ = if is_bits {
                        CType::Unsupported("a bit field".to_owned())
                    } else {
                        self.typ_in(field.text("baseType"), true)
                    };
                    Some((field.text("name").to_owned(), field.number("offset") / 8, typ))
                };
                CType::Struct(members.iter().filter_map(field).collect(), bytes)
            }
            ("DICompositeType", "DW_TAG_union_type") => CType::Unsupported("a union".to_owned()),
            _ => CType::Unsupported("its type".to_owned()),
        }
    }

    fn array(&self, node: &DebugNode, bytes: u64, in_structure: bool) -> CType {
        let mut typ = self.typ_in(node.text("baseType"), in_structure);
        let dimensions = self.list(node.text("elements"));
        let counts = dimensions.iter().filter_map(|name| self.nodes.get(name));
        for count in counts.collect::<Vec<_>>().into_iter().rev() {
            let count = count.number("count");
            let size = typ.size_bytes().saturating_mul(count);
            typ = CType::Array(Box::new(typ), count, size);
        }
        if typ.size_bytes() != bytes {
            return CType::Unsupported("an array without a size".to_owned());
        }
        typ
    }

    fn list(&self, name: &str) -> &[String] {
        self.nodes.get(name).map_or(&[], |node| &node.items)
    }
}

impl DebugNode {
    fn text(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }

    fn number(&self, field: &str) -> u64 {
        self.text(field).parse().unwrap_or(0)
    }
}

/// `name: "x", size: 8` as a map; strings lose their quotes.
fn fields(text: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut rest = text;
    while let Some((name, value)) = rest.split_once(": ") {
        let end = match value.strip_prefix('"') {
            Some(inner) => inner.find('"').map_or(value.len(), |end| end + 2),
            None => value.find(", ").unwrap_or(value.len()),
        };
        let (value, behind) = value.split_at(end);
        found.insert(name.trim().to_owned(), value.trim_matches('"').to_owned());
        rest = behind.trim_start_matches([',', ' ']);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_with_their_types() {
        let printed = "!1 = distinct !DISubprogram(name: \"f\", scope: !9, type: !2, spFlags: \
            DISPFlagDefinition | DISPFlagOptimized, unit: !0)\n\
            !2 = !DISubroutineType(types: !3)\n!3 = !{null, !4}\n\
            !4 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !5, size: 64)\n\
            !5 = !DICompositeType(tag: DW_TAG_array_type, baseType: !6, size: 24, elements: !7)\n\
            !6 = !DIBasicType(name: \"signed char\", size: 8, encoding: DW_ATE_signed_char)\n\
            !7 = !{!8}\n!8 = !DISubrange(count: 3)\n\
            !9 = !DILocalVariable(name: \"x\", arg: 1, scope: !1, type: !4)\n";
        let (result, parameters) = DebugTypes::new(printed).signature("f").expect("it is there");
        assert_eq!(result, CType::Void);
        let byte = CType::Integer { bytes: 1, signed: true, is_bool: false, fraction: None };
        let array = CType::Array(Box::new(byte), 3, 3);
        assert_eq!(parameters, [("x".to_owned(), CType::Pointer(Box::new(array)))]);
    }
}

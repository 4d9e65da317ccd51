//! The codes of failures: one table. `phineus help CODE` explains one of them, and docs/errors.md, which lists
//! them all, is made from it.

use std::fmt;

use super::Exit;

/// Meaning of one kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// How the process ends: the first digit.
    pub exit: Exit,
    /// The other three digits.
    pub number: u16,
    /// Sentences for users: what it means, and what helps where that is always the same.
    pub meaning: &'static str,
}

/// Written as `E4102`.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exit {
            Exit::Interrupted => f.write_str("E130"),
            exit => write!(f, "E{}{:03}", exit as u8, self.number),
        }
    }
}

impl Code {
    /// The code that is written like this, in capitals or not.
    pub fn parse(text: &str) -> Option<Code> {
        ALL.iter().copied().find(|code| code.to_string().eq_ignore_ascii_case(text))
    }
}

macro_rules! codes {
    ($($exit:ident { $($number:literal $name:ident $meaning:literal)* })*) => {
        $($(
            #[doc = $meaning]
            pub const $name: Code =
                Code { exit: Exit::$exit, number: $number, meaning: $meaning };
        )*)*

        /// All codes, by exit code and number.
        pub const ALL: &[Code] = &[$($($name,)*)*];

        #[cfg(test)]
        const NAMES: &[&str] = &[$($(stringify!($name),)*)*];
    };
}

codes! {
    Success {
        100 NOBODY_READS "Nobody reads what is printed, as after `| head`. Nothing is wrong."
    }
    RunTime {
        100 SYSTEM
            "The operating system refused something: a read, a write, space on a disk. Its own \
             words follow."
        101 FILE
            "A file cannot be read or written. Its name and the operating system's reason \
             follow."
        102 STDOUT
            "Results cannot be written to stdout, for example because a disk is full. Send \
             them to a file with --out."
        120 PLANNER_FILES
            "The planner cannot read or write its own temporary files. --swap-dir names \
             another directory."
        130 STORAGE "Reading or writing swapped pages failed. --swap-dir names another directory."
        140 PORT_IN_USE "The port of this party in cluster.toml is used by another program."
        141 CANNOT_LISTEN
            "This machine cannot listen at the address of this party. `bind` in cluster.toml \
             names one that it has."
        142 CHANNEL "A connection failed in a way that is no fault of the other party."
        143 KEY_FILE_IO "A file of keys cannot be read, written or made."
        150 RUN
            "The run itself failed: the plan does not suit the program, or a limit of the \
             engine was met."
        151 TOO_MANY_TURNS
            "A loop whose end is decided by opened values ran more often than \
             --max-iterations allows."
        152 SELECTED_ROW
            "An opened register selected a row that a region does not have: the program is \
             wrong, or a party does not follow the protocol."
        160 NO_RANDOMNESS
            "The operating system gives no random bytes. Nothing can be done securely without \
             them."
        161 NO_THREAD
            "The operating system starts no further thread: too many run, or memory is short."
        170 NO_PROCESS "A process of a local run cannot be started."
        171 PROCESS_ENDED
            "The process of a party in a local run ended without a report, for example \
             because it was killed."
        172 UNREADABLE_REPORT
            "A report that this program wrote cannot be read by it. This is a bug in Phineus."
        173 NOT_A_TEXT_KEY "The file of the key under which texts are hashed does not hold one."
        174 INPUT_CHANGED
            "An input file was changed while the parties computed on it. Run again with the \
             file as it was."
        175 OVERLAY_STOPPED
            "The overlay stopped before the end of the command stream: the stream is damaged or for another \
             device, or the device failed."
        176 OVERLAY_DIFFERS
            "The simulated overlay gave other rows, labels or cycles than the software predicts. This is a \
             bug in Phineus."
        180 STORED_IO "Stored correlated randomness cannot be read or written."
        181 STORED "Making or reading correlated randomness failed before, so no more of it is given."
        182 NO_DEMO_RESULT "The demo gave no result. This is a bug in Phineus."
        183 MEASURED_PARTY_STOPPED "A party of a measurement stopped before its end."
        194 NOT_COMPARED
            "The results are there and were not compared with those of the program in the \
             clear: the reason follows."
        195 OTHER_RESULTS
            "The same inputs gave other results in another run of a measurement. This is a \
             bug in Phineus."
        196 OTHER_COUNTS
            "Runs of a measurement sent or computed different amounts. This is a bug in \
             Phineus."
        197 WRONG_ANSWER
            "The answer of the run does not equal that of the program in the clear. This is a \
             bug in Phineus."
        198 PARTIES_DIFFER
            "Parties of a local run got different results for one output. This is a bug in \
             Phineus."
        199 PLAN_NOT_KEPT
            "The run took more than its plan promised, in memory, messages or rounds. The \
             results are right. This is a bug in Phineus."
        999 PANIC
            "The program met a state that it holds to be impossible. This is a bug in \
             Phineus."
    }
    Usage {
        100 USAGE
            "The command line, an environment variable or a configuration file asks for \
             something that cannot be."
        110 PARAMETER
            "A parameter of the program is unknown, missing, or has a value that it cannot \
             have. `phineus programs` lists the parameters."
        111 ROWS_UNKNOWN
            "How many rows an input has is not known: there is no file of it here, and --rows \
             does not say."
        120 NO_SUCH_PROGRAM
            "There is no program of that name, and no such file. `phineus programs` lists the \
             names."
        121 NO_SUCH_INPUT
            "--in names an input that the program does not have, or that this party does not \
             bring."
        122 WHICH_INPUT "This party brings several inputs, so --in must name one: --in NAME=FILE."
        123 INPUT_NOT_NEEDED "More files are given with --in than this party brings inputs."
        124 INPUT_WITHOUT_FILE "An input of this party has no file. Give --in NAME=FILE for each."
        125 NO_SUCH_OUTPUT "--out names an output that the program does not have."
        126 NO_SUCH_OWNER
            "--inputs-from or --outputs-to names an input, an output or a party that there is \
             not."
        127 OUTPUT_FORMAT
            "The file that --out names has a format that is not written, or that cannot hold \
             this output."
        128 OUTPUT_OF_OTHERS
            "An output about the rows of an owner is to go to somebody else, who would learn \
             what is about them."
        129 NO_SUCH_COLUMN "--column names a column that no input of this party wants."
        130 SCRATCH_DIRECTORY
            "The directory for swapped pages and temporary files is missing, is not one, or \
             cannot be written."
        131 NO_IO_URING "The operating system refuses io_uring. Use --storage auto."
        132 NO_SIMULATOR
            "This build of phineus cannot simulate the overlay, or not with so many cells. Build it with the \
             feature verilator, where Verilator is installed; PHINEUS_OVERLAY_CELLS states the numbers of cells."
        140 CLUSTER
            "cluster.toml, which says who the parties are and where, cannot be used. The \
             fault follows."
        141 NETWORK_MODEL "--net or --simulate states a network in a form that is not known."
        142 KEY_FILE "A file of keys is not one, or others may read or change it."
        143 NO_SUCH_PARTY "A name, as given with --as, is that of no party."
        144 WRONG_IDENTITY
            "The key in the directory of keys belongs to another party than --as names."
        145 PLAIN_NOT_LOCAL "--plain is for parties on one machine only."
        146 OTHER_PARTIES
            "The parties of the program and those of cluster.toml have different names."
        147 PLAIN_QUIC "QUIC has TLS inside, so there is no --plain with it."
        148 NO_ADDRESS "A party that others dial has no address in cluster.toml."
        150 NOT_TRUSTED "`phineus id untrust` names a party for which no key is trusted."
        151 NOT_A_FINGERPRINT
            "What is given as a fingerprint is not one. `phineus id show` prints it at the \
             other party."
        152 NO_KEY "There is no key of this party. `phineus id init NAME` makes one."
        153 WHICH_KEY "There are several keys in the directory of keys. Say which one with --as."
        160 STORED_EXISTS
            "The file for correlated randomness exists already. It is not overwritten, \
             because using it twice reveals values."
        161 STORED_UNFINISHED
            "The file for correlated randomness is being made by another run, or was left by \
             one that was cut off."
    }
    ProgramRefused {
        101 NOT_A_PROGRAM "The program file is damaged, of another version, or no program."
        102 PROGRAM_CUT_OFF "The program file ends too early."
        103 OTHER_LANGUAGE
            "The file is source code in a language that is not run, or its kind is unknown. C \
             is run as it is (.c)."
        104 TOO_MANY_SIZES "The program asks for the sizes of more inputs than there may be."
        105 NO_FIGURES
            "The plan does not state the figures that a run needs. Plan the program again."
        106 PLANNED_ALREADY "The file is a plan, and a program is wanted."
        107 NOT_RIGHT "`check` found faults in the program or the plan: one line for each follows."
        108 NO_C_READER
            "The program that reads C, phineus-c, is not beside phineus. Build it with the \
             feature llvm."
        109 C_REFUSED
            "The C program cannot be computed on secrets as it is. Each place is named, with \
             what to write instead (docs/c.md)."
        110 PROGRAM "The program cannot be made as it is written, or with these parameters."
        111 NOT_A_FILE "A directory is given where a program is wanted."
        112 PLAN_OF_ANOTHER "The plan is not of the program that it is compared with."
        113 OTHER_C_READER "phineus-c is of another version than phineus. Build both together."
        120 NOT_PLANNED "The program cannot be planned. The reason follows."
        121 FIELD_TOO_SMALL
            "Numbers of the program can be larger than the field of the protocol holds, so \
             results could be wrong."
        130 NUMBER_OF_PARTIES "The protocol is not for so many parties, or not for clients."
        131 PLAN_FOR_ANOTHER_PROTOCOL
            "The plan was made for another protocol than the one asked for."
        132 TOO_MANY_ROWS "A party brings more rows than are accepted."
        133 NO_CLEAR_FORM
            "A plan for this protocol cannot be run in the clear, so nothing can be compared \
             with it."
        134 NO_PROTOCOL
            "None of the protocols can run the program here. The reason of each follows."
        135 PLAN_FOR_OTHER_ROLES
            "The plan says who computes and who brings inputs, and the options say something \
             else."
        136 PLAN_FOR_OTHER_OT "The plan was made for another oblivious transfer than --ot names."
        137 PLAN_FOR_OTHER_MASKS
            "The plan opens values under other masks than --narrow-masks asks for."
        138 NO_OWNER
            "An input or output exists for some sizes only, so nobody can be named its owner."
        139 OTHER_DEMAND
            "The plan states other correlated randomness than its instructions take. Plan the \
             program again."
        140 BAD_INSTRUCTIONS
            "Instructions of the program or plan break rules of the bytecode. Each is named. Make the file \
             again, with the same version of Phineus."
        141 UNKNOWN_FIGURES
            "The plan states figures that no plan of this version has. Plan the program \
             again."
        142 OTHER_BLOCKS
            "The figures of the plan are not those of its blocks. Plan the program again."
        143 DAMAGED_END "The end of the plan file is damaged. Plan the program again."
        144 OTHER_GARBLING
            "What is to be garbled beside the plan is missing, or belongs to another plan. \
             Plan the program again."
        145 NOT_BEFOREHAND
            "The program has several blocks. What a block needs is made when it runs, so nothing \
             can be preprocessed before the run."
        146 NO_OPENING_INSIDE
            "The program touches memory at places that are opened while it runs, which the \
             protocol does not do."
        149 NO_PUBLIC_ROWS
            "A memory asks for tables. Distributed point functions read and change rows that are set \
             in one block, between two parties that compute on shares; garbled tables read constants, or \
             inputs of the first party, under garbled."
        150 NOT_FOR_OVERLAY
            "The overlay garbles circuits of AND and XOR only, and a part of the program is not one."
        151 NOT_A_STREAM
            "The file is no command stream of the overlay, is damaged, or is for another device."
        160 NO_SOURCES
            "The costs of source lines are not known: the program is a file that is traced or in \
             text, or the protocol does not compute on bits."
    }
    PeerLost {
        102 CLOSED "A party closed the connection, or its process ended."
        103 SILENT "Nothing was heard from a party for a while: it or the network is down."
        104 STOPPED "A party ended the run for a reason of its own, which it names."
        105 LOST_ELSEWHERE "Another party says that it lost a party."
        110 UNKNOWN_HOST
            "The name of a party's host cannot be resolved. Check its address in \
             cluster.toml."
        111 UNREACHABLE
            "A party could not be reached at its address in time. Start it there; check the \
             address and firewalls."
        112 NOBODY_CAME "A party that was to connect did not do so in time."
        113 INCOMPLETE "Not all parties were there in time. Those that are missing are named."
        120 NOT_THERE "`phineus doctor --peer` reaches nobody at that address."
        121 BROKEN_MEASUREMENT
            "The connection of `phineus doctor --peer` broke while it was measured."
    }
    PeerCheated {
        101 MISBEHAVED "A party sent something that no correct party sends."
        102 ACCUSED
            "A party ended the run because it received something that no correct party sends."
        103 CHECK_FAILED
            "A check of the protocol failed: a party deviated from it, or the network changed \
             messages. Nothing wrong was given out."
        104 UNSORTED
            "The table of a party is not in the order that the program relies on, or repeats \
             keys. Its input and owner are named."
        105 NOT_AN_AGREEMENT "What a party sent before the run, to agree on it, cannot be read."
        106 CLIENTS_MISSTATED "A party says something else of the clients than the others do."
    }
    DoesNotFit {
        100 MEMORY "The run does not fit into --memory. The least that is enough is stated."
        101 FRAMES
            "The plan does not fit: an instruction needs more pages at once than there are \
             frames. Give more memory."
        102 PLANNER_MEMORY "Planning itself needs more memory than --memory leaves for it."
        110 NO_SPACE
            "The directory for swapped pages has too little space, or files there may not be \
             so large."
        111 STORAGE_MEMORY "The operating system does not give the memory that the page frames need."
        113 NO_ROOM_FOR_RESULTS "There is too little space where the results are to be written."
        114 INPUT_BUFFERS
            "Decoding an input file takes more memory than --memory leaves. Give more, or write \
             the file with smaller row groups or record batches."
        120 TOO_LARGE_A_PLAN "The plan has more pages or wires than this machine can address."
        121 NO_PROTOCOL_FITS
            "None of the protocols can run the program in --memory. The reason of each \
             follows."
        122 LIMIT_PASSED
            "The process had more memory resident than --memory allows, and ended at once. \
             The plan should have fitted: this is a bug in Phineus."
        123 POOL
            "The sessions of a process share its memory, and what is left is too little for \
             another one."
        124 OVERLAY_TOO_SMALL
            "The program has more live wires, or more gates, than the overlay holds."
        125 OVERLAY_MEMORY
            "Compiling the program for the overlay takes more memory than --memory leaves: its command \
             stream is in memory as a whole."
    }
    Disagreement {
        100 DIFFER
            "The parties were asked for different things: program, parameters, rows, options \
             or versions. Each difference is named."
        101 DIFFER_ELSEWHERE
            "A party ended the run because it was asked for something else than another one."
        102 TOO_MANY_ROWS_STATED "A party says that it brings more rows than there may be."
        103 INPUT_OF_ANOTHER "A party says that it brings an input that is not its own."
        105 OTHER_ROWS "A party brings another number of rows than --rows says."
        110 WRONG_KEY
            "A party presented another key than the one trusted for it. Compare fingerprints \
             over another channel before anything else."
        111 UNKNOWN_KEY
            "No key is trusted for a party yet. Compare fingerprints over another channel, \
             then trust it."
        112 KEY_REFUSED "A party does not trust the key of this one."
        113 WRONG_PARTY
            "Another party answers than the one expected at that address. Check cluster.toml."
        114 OTHER_VERSION "A party runs a version that does not speak with this one."
        115 OTHER_COUNT "A party counts other parties or connections than there are here."
        116 TWICE "Two processes run as the same party. Stop one of them."
        117 STRANGER "Somebody presented a key that is trusted for no party."
        118 KEY_OF_ANOTHER "A party presented the key that is trusted for another one."
        119 OTHER_TRANSPORT "The parties do not use the same transport, or not all use TLS."
        120 STORED_APART
            "The parties' stored preprocessing is not from the same run of `phineus preprocess`."
        121 OTHER_BATCHES
            "The parties' plans make correlated randomness in batches of different sizes. \
             Plan again with the same --memory."
        122 OTHER_PURPOSE
            "A party was asked to do something else than this one, such as preprocessing \
             beside a run."
        123 FAKE_PREPROCESSING
            "Some parties use --fake-preprocessing, which protects nothing, and others did \
             not state it."
        124 OTHER_SESSION
            "The parties are in different sessions: two runs of the same parties have met, or \
             a party told others different things."
        125 OTHER_CIRCUITS
            "The parties have different circuits for the same program. Run the same build of \
             Phineus at all parties."
    }
    BadInput {
        101 INPUT_UNREADABLE "An input cannot be read: there is no such file, or it is a directory."
        102 OTHER_SIZE "The file has another number of rows than the program was made for."
        103 TOO_LONG "The file has 2^32 rows or more, and its rows must be sorted."
        104 NOT_A_FILE_AS_INPUT
            "The input is a pipe or a terminal, and it must be read twice. Write it to a \
             file."
        110 CELL
            "Cells or rows of the file are not what the program wants. Each fault is named \
             with line and column. No value was sent."
        111 OUT_OF_RANGE "A value is outside the range that the program states for its input."
        112 KEY_REPEATED "Two rows have the same key, and every row needs another."
        113 OTHER_FORMAT
            "The file is a spreadsheet, an archive or the like. An input is CSV, .npy, or with \
             the feature `parquet` a Parquet or Arrow file."
        114 ROWS_DIFFER
            "Rows with the same key differ elsewhere: with count-once only equal rows count \
             as one."
        115 TOO_MANY_OF_A_KEY "More rows have the same key than the bound that the parties state."
        116 MALFORMED
            "The binary file is damaged or of a kind that is not read. Write it again, .npy \
             as numbers in C order."
        120 DATA "A table does not suit its input: columns, rows or their order."
        121 WRONG_ROWS
            "The input has another number of rows than the program or its parameters ask for."
        122 ROWS "The numbers of rows of the inputs do not fit together."
        130 NO_STORED_FILE "The file of correlated randomness is not there, or empty."
        131 NOT_STORED_RANDOMNESS "The file is not one of correlated randomness of this version."
        132 STORED_EXPOSED
            "Others may read the key of the correlated randomness, or it belongs to another user."
        133 STORED_DAMAGED
            "The file of correlated randomness was changed, or its key is another one."
        134 STORED_CUT_OFF "The file of correlated randomness ends too early."
        135 STORED_FOR_ANOTHER_PROGRAM
            "The correlated randomness is for another program, or for other parameters or \
             rows."
        136 STORED_FOR_ANOTHER_PARTY "The correlated randomness belongs to another party."
        137 STORED_TOO_LITTLE "There is less correlated randomness than the run takes."
        138 STORED_USED
            "The correlated randomness was used already. Using it twice would reveal values."
        139 STORED_FOR_ANOTHER_PROTOCOL "The correlated randomness is for another protocol."
    }
    Interrupted {
        1 INTERRUPTED
            "The user stopped the run, or the process was asked to end. What was revealed is \
             said beside it."
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_one_meaning_and_every_meaning_one_code() {
        let codes: BTreeSet<String> = ALL.iter().map(Code::to_string).collect();
        let meanings: BTreeSet<&str> = ALL.iter().map(|code| code.meaning).collect();
        assert_eq!((codes.len(), meanings.len()), (ALL.len(), ALL.len()));
        for code in ALL {
            assert_eq!(Code::parse(&code.to_string()), Some(*code));
            assert!(code.number < 1000 && code.meaning.ends_with('.'), "{code}");
        }
        assert_eq!((Code::parse("E0"), Code::parse("4102")), (None, None));
    }

    fn folder_of_crate(folder: &str) -> std::path::PathBuf {
        format!("{}{folder}", env!("CARGO_MANIFEST_DIR")).into()
    }

    #[test]
    fn every_code_is_given_somewhere() {
        let mut sources = String::new();
        let mut directories: Vec<_> = ["/src", "/../cli/src"].map(folder_of_crate).into();
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).expect("it is ours") {
                let path = entry.expect("it is ours").path();
                match path.is_dir() {
                    true => directories.push(path),
                    false => sources += &std::fs::read_to_string(path).expect("it is ours"),
                }
            }
        }
        let given = |name: &&&str| {
            let wanted = format!("codes::{name}");
            sources.match_indices(&wanted).any(|(at, _)| {
                !sources[at + wanted.len()..]
                    .starts_with(|next: char| next == '_' || next.is_alphanumeric())
            })
        };
        let idle: Vec<&&str> = NAMES.iter().filter(|name| !given(name)).collect();
        assert!(idle.is_empty(), "nothing fails with {idle:?}");
    }

    /// Made anew with PHINEUS_WRITE_DOCUMENTS=1.
    #[test]
    fn the_document_is_not_stale() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md");
        if std::env::var_os("PHINEUS_WRITE_DOCUMENTS").is_some() {
            std::fs::write(path, document()).expect("writable");
        }
        let found = std::fs::read_to_string(path).expect("it is there");
        assert!(
            found == document(),
            "docs/errors.md: run this test with PHINEUS_WRITE_DOCUMENTS=1"
        );
    }

    /// Expected content of docs/errors.md.
    fn document() -> String {
        let mut text = "# Errors\n\nMade from `crates/session/src/failure/codes.rs`. `phineus help CODE` prints one of \
                        these lines. The first digit is the exit code. The library has the name behind the number in \
                        `phineus::codes`.\n"
            .to_owned();
        let mut last = None;
        for (code, name) in ALL.iter().zip(NAMES) {
            if last.replace(code.exit) != Some(code.exit) {
                text += &format!("\n## Exit code {}: {}\n\n", code.exit as u8, code.exit.meaning());
            }
            text += &format!("* **{code}** `{name}` {}\n", code.meaning);
        }
        text
    }
}

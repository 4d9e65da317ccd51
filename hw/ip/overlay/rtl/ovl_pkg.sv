// Parameters of the overlay and its register map. crates/overlay/src/parameters.rs and registers.rs have the same
// numbers; a test of that crate compares them.
package ovl_pkg;
    localparam VERSION = 4;
    // Cells of the device, 1 to 16. ovl_top has a parameter of this name.
    localparam CELLS = 1;
    localparam CELL_BITS = 4;
    // Logarithms of the number of banks, and of the labels in one.
    localparam BANK_BITS = 4;
    localparam ROW_BITS = 12;
    localparam ADDRESS_BITS = BANK_BITS + ROW_BITS;
    localparam READS = 12;
    localparam WRITES = 5;
    // Ports of the AND, any of whose labels XOR unit Z adds.
    localparam AND_PORTS = 6;
    // Complements: a, b, post, X, Y, Z.
    localparam NOTS = 6;
    localparam INDEX_BITS = 32;
    // The host schedules by these; the pipeline has them by construction.
    /* verilator lint_off UNUSEDPARAM */
    localparam AND_LATENCY = 15;
    localparam XOR_LATENCY = 3;
    localparam LOAD_LATENCY = 2;
    localparam MOVE_LATENCY = 4;
    localparam CHECK_INTERVAL = 1024;
    /* verilator lint_on UNUSEDPARAM */
    // Cycles after the last word.
    localparam DRAIN_CYCLES = 16;
    // A stream for other parameters has another hash in its header.
    localparam [63:0] PARAMETER_HASH = 64'h8d60c00f0360eea6;

    // Fields of a lane of a word, which is what one cell does; from the lowest bit.
    localparam READ_AT = 0;
    localparam WRITE_AT = READ_AT + READS * ADDRESS_BITS;
    localparam OPERAND_AT = WRITE_AT + WRITES * ADDRESS_BITS;
    localparam TERM_AT = OPERAND_AT + READS;
    localparam WRITE_VALID_AT = TERM_AT + AND_PORTS;
    localparam OUTPUT_AT = WRITE_VALID_AT + WRITES;
    localparam NOT_AT = OUTPUT_AT + 1;
    localparam END_AT = NOT_AT + NOTS;
    localparam IDLE_AT = END_AT + 1;
    localparam INDEX_AT = IDLE_AT + 8;
    // Where the result of X goes in another cell.
    localparam MOVE_AT = INDEX_AT + INDEX_BITS;
    localparam MOVE_CELL_AT = MOVE_AT + 1;
    localparam MOVE_TO_AT = MOVE_CELL_AT + CELL_BITS;
    // The header takes 384 bits.
    // The result of X that goes to the host, and the label that is loaded, are of those that are stored for a time.
    localparam SPILL_AT = MOVE_TO_AT + ADDRESS_BITS;
    localparam FILL_AT = SPILL_AT + 1;
    localparam FIELD_BITS = ((FILL_AT + 64) / 64) * 64;
    localparam LANE_BITS = FIELD_BITS < 384 ? 384 : FIELD_BITS;
    // Bits of a beat of each memory port, of which each cell has one: a power of two. 2^BURST_BITS beats, which a burst does not
    // exceed, are at most 4 KiB.
    localparam MEMORY_BITS = 512;
    localparam BURST_BITS = 4;
    // Logarithm of the beats that are asked for before the cell takes them.
    localparam READ_AHEAD_BITS = 7;
    // The same of the labels that were stored in memory: beats of words that were asked for before them delay them.
    localparam FILL_AHEAD_BITS = 7;

    // Of the header: cells of the device that a stream is for.
    localparam HEADER_CELLS_AT = 320;

    // "OVL1", the first four bytes of a stream.
    localparam [31:0] MAGIC = 32'h314c_564f;

    // Registers, by byte address.
    localparam [7:0] REG_ID = 8'h00;
    localparam [7:0] REG_VERSION = 8'h04;
    localparam [7:0] REG_HASH_LOW = 8'h08;
    localparam [7:0] REG_HASH_HIGH = 8'h0c;
    localparam [7:0] REG_CONTROL = 8'h10;
    localparam [7:0] REG_STATUS = 8'h14;
    localparam [7:0] REG_CYCLES_LOW = 8'h18;
    localparam [7:0] REG_CYCLES_HIGH = 8'h1c;
    localparam [7:0] REG_STALLS_LOW = 8'h20;
    localparam [7:0] REG_STALLS_HIGH = 8'h24;
    localparam [7:0] REG_WORDS_LOW = 8'h28;
    localparam [7:0] REG_WORDS_HIGH = 8'h2c;
    localparam [7:0] REG_CELLS = 8'h30;
    localparam [7:0] REG_WORD_COUNT = 8'h34;
    localparam [7:0] REG_START = 8'h40;
    localparam [7:0] REG_DELTA = 8'h50;
    localparam [7:0] REG_FILL_OFFSET = 8'h60;
    localparam [7:0] REG_FILL_COUNT = 8'h64;
    localparam [7:0] REG_LABEL_OFFSET = 8'h68;
    localparam [7:0] REG_WORD_BASE = 8'h80;

    // Why the device stopped.
    localparam [3:0] ERROR_NONE = 4'd0;
    localparam [3:0] ERROR_HEADER = 4'd1;
    localparam [3:0] ERROR_PARAMETERS = 4'd2;
    localparam [3:0] ERROR_CHECK = 4'd3;
    localparam [3:0] ERROR_MEMORY = 4'd4;
    localparam [3:0] ERROR_SHORT = 4'd5;
endpackage

// Parameters of the reproduced SIFO. crates/overlay/src/sifo has the same numbers; a test compares them.
package sifo_pkg;
    localparam LABEL_BITS = 80;
    // Addresses with their flag in the lowest bit: 1 is block RAM.
    localparam ADDRESS_BITS = 21;
    // Cells of each kind.
    localparam CELLS = 15;
    // Words of block RAM, of 108 bits in the paper and of one label here: 2^17.
    localparam RAM_BITS = 17;
    localparam ROW_BITS = 3 * LABEL_BITS;
    // A DDR word has four labels, each in 128 bits.
    localparam DDR_BITS = 512;
    localparam DDR_ADDRESS_BITS = ADDRESS_BITS - 3;
    // Registers: cell, and register of the cell. Cell 31 is offset (0 to 2) and command (3).
    localparam [4:0] CONTROL = 5'd31;
    // Fields of a command: count, and kind, which is 1 for AND.
    localparam COMMAND_KIND_AT = 8;
    // In register 2 of the offset: each cell has two registers for three addresses.
    localparam PACKED_AT = 31;
endpackage

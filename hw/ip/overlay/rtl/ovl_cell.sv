// A cell: reads labels, adds them, garbles or evaluates an AND in every cycle, and writes the results.
//
// It does what its lane of the word says in the cycles in which `issue` is set. The result of XOR unit X may also go to
// the host, or to another cell, which writes it through its load port.
module ovl_cell #(
    parameter BANK_BITS = ovl_pkg::BANK_BITS,
    parameter ROW_BITS = ovl_pkg::ROW_BITS,
    parameter CELLS = ovl_pkg::CELLS,
    // Which of the cells this is.
    parameter NUMBER = 0,
    parameter EXPORT_BITS = 1 + ovl_pkg::CELL_BITS + ovl_pkg::ADDRESS_BITS + 128
) (
    input  wire                          clk,
    input  wire                          reset,
    input  wire                          advance,
    input  wire                          issue,
    input  wire                          evaluate,
    input  wire [127:0]                  start,
    input  wire [127:0]                  delta,
    input  wire [ovl_pkg::LANE_BITS-1:0] lane,
    // The label that a load takes.
    input  wire [127:0]                  label,
    // Labels that are stored for a time go to memory, and not to the host.
    input  wire                          stores_labels,
    // Of each cell, from the lowest bit: whether it sends, the receiving cell, the address there, the label.
    input  wire [CELLS*EXPORT_BITS-1:0]  exports,
    output wire [EXPORT_BITS-1:0]        sent,
    // The result goes to the host in this cycle.
    output wire                          output_due,
    // The same to memory.
    output wire                          store_due,
    output wire [127:0]                  result,
    output wire                          row_needed,
    input  wire [255:0]                  row_in,
    output wire                          garbled,
    output wire [255:0]                  row,
    // Two accesses collide in this cycle; found in simulation only.
    output wire                          collision
);
    localparam ADDRESS_BITS = ovl_pkg::ADDRESS_BITS;
    localparam READS = ovl_pkg::READS;
    localparam WRITES = ovl_pkg::WRITES;
    localparam AND_PORTS = ovl_pkg::AND_PORTS;
    localparam NOTS = ovl_pkg::NOTS;
    // Cell and address.
    localparam TO_BITS = ovl_pkg::CELL_BITS + ADDRESS_BITS;

    // An evaluator has no offset.
    wire [127:0] offset = evaluate ? 128'h0 : delta;

    // Labels that are operands of the unit of their port, and those of the AND's ports that are terms of XOR unit Z.
    wire [READS-1:0] operands = lane[ovl_pkg::OPERAND_AT +: READS];
    wire [AND_PORTS-1:0] terms = lane[ovl_pkg::TERM_AT +: AND_PORTS];
    wire [READS-1:0] read_valid = operands | {{(READS - AND_PORTS){1'b0}}, terms};
    wire [WRITES-1:0] write_valid = lane[ovl_pkg::WRITE_VALID_AT +: WRITES];
    wire is_output = lane[ovl_pkg::OUTPUT_AT];
    wire is_stored = lane[ovl_pkg::SPILL_AT] & stores_labels;
    wire [NOTS-1:0] nots = lane[ovl_pkg::NOT_AT +: NOTS];
    wire [31:0] index = lane[ovl_pkg::INDEX_AT +: 32];

    // Cycle t: addresses go to the banks. Cycle t + 1: labels are there.
    reg r_and, r_x, r_y, r_z, r_load, r_output, r_store;
    reg [NOTS-1:0] r_nots;
    reg [AND_PORTS-1:0] r_operands, r_terms;
    reg [31:0] r_index;
    reg [ADDRESS_BITS-1:0] r_and_to, r_x_to, r_y_to, r_z_to, r_load_to;
    reg [127:0] r_label;
    always @(posedge clk) begin
        if (reset) {r_and, r_x, r_y, r_z, r_load, r_output, r_store} <= 7'b0;
        else if (advance) begin
            {r_z, r_load, r_y, r_x, r_and} <= write_valid & {WRITES{issue}};
            r_output <= is_output & !is_stored & issue;
            r_store <= is_output & is_stored & issue;
        end
        if (advance) begin
            r_nots <= nots;
            r_operands <= operands[AND_PORTS-1:0];
            r_terms <= terms;
            r_index <= index;
            {r_z_to, r_load_to, r_y_to, r_x_to, r_and_to} <= lane[ovl_pkg::WRITE_AT +: WRITES * ADDRESS_BITS];
            r_label <= label;
        end
    end

    wire [READS*128-1:0] read;
    wire [127:0] flip0 = r_nots[0] ? offset : 128'h0;
    wire [127:0] flip1 = r_nots[1] ? offset : 128'h0;
    wire [127:0] flip2 = r_nots[2] ? offset : 128'h0;
    wire [127:0] flip3 = r_nots[3] ? offset : 128'h0;
    wire [127:0] flip4 = r_nots[4] ? offset : 128'h0;
    wire [127:0] flip5 = r_nots[5] ? offset : 128'h0;
    // Labels of the AND's ports, once for the AND and once for XOR unit Z.
    wire [127:0] operand [0:AND_PORTS-1];
    wire [127:0] term [0:AND_PORTS-1];
    genvar p;
    generate
        for (p = 0; p < AND_PORTS; p = p + 1) begin : and_port
            assign operand[p] = r_operands[p] ? read[p * 128 +: 128] : 128'h0;
            assign term[p] = r_terms[p] ? read[p * 128 +: 128] : 128'h0;
        end
    endgenerate

    // Cycle t + 2: operands of the AND, and results of the XOR units, which are written.
    reg s1_and, s1_x, s1_y, s1_z, s1_output, s1_store;
    reg [31:0] s1_index;
    reg [ADDRESS_BITS-1:0] s1_and_to, s1_x_to, s1_y_to, s1_z_to;
    reg [127:0] s1_a, s1_b, s1_post, s1_sum_x, s1_sum_y, s1_sum_z;
    always @(posedge clk) begin
        if (reset) {s1_and, s1_x, s1_y, s1_z, s1_output, s1_store} <= 6'b0;
        else if (advance) {s1_and, s1_x, s1_y, s1_z, s1_output, s1_store} <= {r_and, r_x, r_y, r_z, r_output, r_store};
        if (advance) begin
            s1_index <= r_index;
            {s1_and_to, s1_x_to, s1_y_to, s1_z_to} <= {r_and_to, r_x_to, r_y_to, r_z_to};
            s1_a <= operand[0] ^ operand[1] ^ flip0;
            s1_b <= operand[2] ^ operand[3] ^ flip1;
            s1_post <= operand[4] ^ operand[5] ^ flip2;
            s1_sum_x <= read[768 +: 128] ^ read[896 +: 128] ^ read[1024 +: 128] ^ flip3;
            s1_sum_y <= read[1152 +: 128] ^ read[1280 +: 128] ^ read[1408 +: 128] ^ flip4;
            s1_sum_z <= term[0] ^ term[1] ^ term[2] ^ term[3] ^ term[4] ^ term[5] ^ flip5;
        end
    end
    assign output_due = s1_output;
    assign store_due = s1_store;
    assign result = s1_sum_x;

    // Cycle t + 3: what X sent to another cell is there, and is written through the load port of that cell.
    reg r_move, s1_move, s2_move;
    reg [TO_BITS-1:0] r_target, s1_target, s2_target;
    reg [127:0] s2_label;
    always @(posedge clk) begin
        if (reset) {r_move, s1_move, s2_move} <= 3'b0;
        else if (advance) {r_move, s1_move, s2_move} <= {lane[ovl_pkg::MOVE_AT] & issue, r_move, s1_move};
        if (advance) begin
            {r_target, s1_target, s2_target} <= {lane[ovl_pkg::MOVE_CELL_AT +: TO_BITS], r_target, s1_target};
            s2_label <= s1_sum_x;
        end
    end
    assign sent = {s2_label, s2_target, s2_move};
    reg received;
    reg [ADDRESS_BITS-1:0] received_to;
    reg [127:0] received_label;
    integer i;
    always @* begin
        received = 1'b0;
        received_to = {ADDRESS_BITS{1'b0}};
        received_label = 128'h0;
        for (i = 0; i < CELLS; i = i + 1) begin
            if (i != NUMBER && exports[i * EXPORT_BITS]
                && exports[i * EXPORT_BITS + 1 +: ovl_pkg::CELL_BITS] == NUMBER[ovl_pkg::CELL_BITS-1:0]) begin
                received = 1'b1;
                received_to = received_to | exports[i * EXPORT_BITS + 1 + ovl_pkg::CELL_BITS +: ADDRESS_BITS];
                received_label = received_label | exports[i * EXPORT_BITS + 1 + TO_BITS +: 128];
            end
        end
    end

    // Cycles t + 3 to t + 14: half gates. Cycle t + 14: the row leaves, and the label is written.
    wire [127:0] garbler_half, evaluator_half, and_label;
    wire [ADDRESS_BITS-1:0] and_to;
    hg_cell #(.INDEX_BITS(32), .TAG_BITS(ADDRESS_BITS)) cell_and (
        .clk(clk), .reset(reset), .advance(advance), .start(start), .delta(offset),
        .valid(s1_and), .index(s1_index), .a(s1_a), .b(s1_b), .post(s1_post), .tag(s1_and_to),
        .evaluate(evaluate), .row_needed(row_needed), .row(row_in), .row_valid(garbled),
        .garbler_half(garbler_half), .evaluator_half(evaluator_half),
        .result(and_label), .result_tag(and_to)
    );
    assign row = {evaluator_half, garbler_half};

    // The load port. No valid stream has two labels for it in one cycle.
    wire [ADDRESS_BITS-1:0] load_to = (r_load ? r_load_to : {ADDRESS_BITS{1'b0}}) | received_to;
    wire [127:0] load_label = (r_load ? r_label : 128'h0) | received_label;
    wire memory_collision;
`ifdef OVL_ASSERT
    reg received_twice;
    integer j, k;
    always @* begin
        received_twice = r_load & received;
        for (j = 0; j < CELLS; j = j + 1) begin
            for (k = 0; k < j; k = k + 1) begin
                if (exports[j * EXPORT_BITS] && exports[k * EXPORT_BITS]
                    && exports[j * EXPORT_BITS + 1 +: ovl_pkg::CELL_BITS]
                        == exports[k * EXPORT_BITS + 1 +: ovl_pkg::CELL_BITS]) received_twice = 1'b1;
            end
        end
    end
    assign collision = memory_collision | (received_twice & advance);
`else
    assign collision = memory_collision;
`endif

    wm_banks #(.BANK_BITS(BANK_BITS), .ROW_BITS(ROW_BITS), .READS(READS), .WRITES(WRITES)) memory (
        .clk(clk), .advance(advance),
        .read_valid(read_valid & {READS{issue}}),
        .read_address(lane[ovl_pkg::READ_AT +: READS * ADDRESS_BITS]),
        .read_label(read),
        .write_valid({s1_z, r_load | received, s1_y, s1_x, garbled}),
        .write_address({s1_z_to, load_to, s1_y_to, s1_x_to, and_to}),
        .write_label({s1_sum_z, load_label, s1_sum_y, s1_sum_x, and_label}), .collision(memory_collision)
    );
endmodule

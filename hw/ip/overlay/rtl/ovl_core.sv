// The overlay: takes words, does what they say, and freezes as a whole when the host is not ready.
//
// A run: `go`; the header word; words with check words between them; the last word; the drain. In each cycle in
// which `advance` is set, one word issues or one idle cycle passes, and every register of the pipeline moves. So the
// number of such cycles is that of the schedule, whatever the host does.
module ovl_core #(
    parameter BANK_BITS = ovl_pkg::BANK_BITS,
    parameter ROW_BITS = ovl_pkg::ROW_BITS
) (
    input  wire                          clk,
    input  wire                          reset,
    input  wire                          go,
    // Role of this run: 1 to evaluate, 0 to garble.
    input  wire                          evaluate,
    input  wire [127:0]                  start,
    input  wire [127:0]                  delta,
    output wire                          busy,
    output wire                          done,
    output reg  [3:0]                    error,
    output reg  [63:0]                   cycles,
    output reg  [63:0]                   stalls,
    output reg  [63:0]                   words,
    // Two accesses of the wire memory collided in this run; found in simulation only.
    output reg                           collided,
    input  wire                          word_valid,
    output wire                          word_ready,
    input  wire [ovl_pkg::WORD_BITS-1:0] word_data,
    input  wire                          label_valid,
    output wire                          label_ready,
    input  wire [127:0]                  label_data,
    input  wire                          row_in_valid,
    output wire                          row_in_ready,
    input  wire [255:0]                  row_in_data,
    output wire                          row_valid,
    input  wire                          row_ready,
    output wire [255:0]                  row_data,
    output wire                          result_valid,
    input  wire                          result_ready,
    output wire [127:0]                  result_data
);
    localparam ADDRESS_BITS = ovl_pkg::ADDRESS_BITS;
    localparam READS = ovl_pkg::READS;
    localparam WRITES = ovl_pkg::WRITES;
    localparam WORD_BITS = ovl_pkg::WORD_BITS;
    localparam AND_PORTS = ovl_pkg::AND_PORTS;
    localparam NOTS = ovl_pkg::NOTS;

    localparam [2:0] IDLE = 3'd0, HEADER = 3'd1, RUN = 3'd2, DRAIN = 3'd3, FLUSH = 3'd4, DONE = 3'd5, FAILED = 3'd6;
    reg [2:0] state;
    assign busy = state == HEADER || state == RUN || state == DRAIN || state == FLUSH;
    assign done = state == DONE;

    wire advance;
    // An evaluator has no offset.
    wire [127:0] offset = evaluate ? 128'h0 : delta;

    // Queues at the streams.
    wire word_full, word_pop, has_word;
    wire [WORD_BITS-1:0] word;
    assign word_ready = !word_full;
    ovl_fifo #(.WIDTH(WORD_BITS)) word_fifo (
        .clk(clk), .reset(reset | go), .push(word_valid & word_ready), .in(word_data), .full(word_full),
        .pop(word_pop), .out(word), .valid(has_word)
    );
    wire label_full, label_pop, has_label;
    wire [127:0] next_label;
    assign label_ready = !label_full;
    ovl_fifo #(.WIDTH(128)) label_fifo (
        .clk(clk), .reset(reset | go), .push(label_valid & label_ready), .in(label_data), .full(label_full),
        .pop(label_pop), .out(next_label), .valid(has_label)
    );
    wire row_in_full, has_row_in, row_needed;
    wire [255:0] row_in;
    assign row_in_ready = !row_in_full;
    ovl_fifo #(.WIDTH(256)) row_in_fifo (
        .clk(clk), .reset(reset | go), .push(row_in_valid & row_in_ready), .in(row_in_data), .full(row_in_full),
        .pop(advance & row_needed), .out(row_in), .valid(has_row_in)
    );
    wire row_full, row_push, has_row, result_full, result_push, has_result;
    wire [255:0] row;
    wire [127:0] result;
    assign row_valid = has_row;
    ovl_fifo #(.WIDTH(256)) row_fifo (
        .clk(clk), .reset(reset | go), .push(row_push), .in(row), .full(row_full),
        .pop(row_valid & row_ready), .out(row_data), .valid(has_row)
    );
    assign result_valid = has_result;
    ovl_fifo #(.WIDTH(128)) result_fifo (
        .clk(clk), .reset(reset | go), .push(result_push), .in(result), .full(result_full),
        .pop(result_valid & result_ready), .out(result_data), .valid(has_result)
    );

    // Fields of the word.
    // Labels that are operands of the unit of their port, and those of the AND's ports that are terms of XOR unit Z.
    wire [READS-1:0] operands = word[ovl_pkg::OPERAND_AT +: READS];
    wire [AND_PORTS-1:0] terms = word[ovl_pkg::TERM_AT +: AND_PORTS];
    wire [READS-1:0] read_valid = operands | {{(READS - AND_PORTS){1'b0}}, terms};
    wire [WRITES-1:0] write_valid = word[ovl_pkg::WRITE_VALID_AT +: WRITES];
    wire is_output = word[ovl_pkg::OUTPUT_AT];
    wire [NOTS-1:0] nots = word[ovl_pkg::NOT_AT +: NOTS];
    wire is_end = word[ovl_pkg::END_AT];
    wire [7:0] idle_after = word[ovl_pkg::IDLE_AT +: 8];
    wire [31:0] index = word[ovl_pkg::INDEX_AT +: 32];
    wire is_load = write_valid[3];
    wire is_last = idle_after == 8'd255;

    // Control.
    reg [7:0] idle;
    reg [4:0] drain;
    reg s1_output;
    wire [31:0] crc_next;
    reg [31:0] crc;
    ovl_crc #(.WIDTH(WORD_BITS)) check (.crc(crc), .data(word), .next(crc_next));
    wire garbled;
    wire row_push_due = garbled & !evaluate;
    wire streams_ready = !(row_push_due & row_full) & !(s1_output & result_full) & !(row_needed & !has_row_in);
    wire takes_word = state == RUN && idle == 8'd0;
    wire collision;
    wire check_fails = takes_word & has_word & is_end & index != ~crc;
    wire can_issue = has_word & !check_fails & (is_end | !is_load | has_label);
    assign advance = streams_ready & (state == DRAIN | (state == RUN & (idle != 8'd0 | can_issue)));
    wire issue = advance & takes_word & !is_end;
    wire takes_header = state == HEADER & has_word;
    assign word_pop = takes_header | (advance & takes_word);
    assign label_pop = issue & is_load;

    always @(posedge clk) begin
        if (reset) begin
            state <= IDLE;
            error <= ovl_pkg::ERROR_NONE;
            cycles <= 64'd0;
            stalls <= 64'd0;
            words <= 64'd0;
            collided <= 1'b0;
            idle <= 8'd0;
            drain <= 5'd0;
            crc <= 32'hffff_ffff;
        end else begin
            if (collision) collided <= 1'b1;
            if (word_pop) words <= words + 64'd1;
            if (advance) cycles <= cycles + 64'd1;
            if ((state == RUN | state == DRAIN) & !advance) stalls <= stalls + 64'd1;
            case (state)
                IDLE, DONE, FAILED: if (go) begin
                    state <= HEADER;
                    error <= ovl_pkg::ERROR_NONE;
                    cycles <= 64'd0;
                    stalls <= 64'd0;
                    words <= 64'd0;
                    collided <= 1'b0;
                    idle <= 8'd0;
                    crc <= 32'hffff_ffff;
                end
                HEADER: if (has_word) begin
                    crc <= crc_next;
                    if (word[31:0] != ovl_pkg::MAGIC) begin
                        state <= FAILED;
                        error <= ovl_pkg::ERROR_HEADER;
                    end else if (word[127:64] != ovl_pkg::PARAMETER_HASH) begin
                        state <= FAILED;
                        error <= ovl_pkg::ERROR_PARAMETERS;
                    end else state <= RUN;
                end
                RUN: if (check_fails) begin
                    state <= FAILED;
                    error <= ovl_pkg::ERROR_CHECK;
                end else if (advance) begin
                    if (idle != 8'd0) idle <= idle - 8'd1;
                    else if (is_end) begin
                        crc <= 32'hffff_ffff;
                        if (is_last) begin
                            state <= DRAIN;
                            drain <= ovl_pkg::DRAIN_CYCLES - 5'd1;
                        end
                    end else begin
                        crc <= crc_next;
                        idle <= idle_after;
                    end
                end
                DRAIN: if (advance) begin
                    drain <= drain - 5'd1;
                    if (drain == 5'd0) state <= FLUSH;
                end
                FLUSH: if (!has_row & !has_result) state <= DONE;
                default: state <= IDLE;
            endcase
        end
    end

    // Cycle t: addresses go to the banks. Cycle t + 1: labels are there.
    reg r_and, r_x, r_y, r_z, r_load, r_output;
    reg [NOTS-1:0] r_nots;
    reg [AND_PORTS-1:0] r_operands, r_terms;
    reg [31:0] r_index;
    reg [ADDRESS_BITS-1:0] r_and_to, r_x_to, r_y_to, r_z_to, r_load_to;
    reg [127:0] r_label;
    always @(posedge clk) begin
        if (reset) {r_and, r_x, r_y, r_z, r_load, r_output} <= 6'b0;
        else if (advance) begin
            {r_z, r_load, r_y, r_x, r_and} <= write_valid & {WRITES{issue}};
            r_output <= is_output & issue;
        end
        if (advance) begin
            r_nots <= nots;
            r_operands <= operands[AND_PORTS-1:0];
            r_terms <= terms;
            r_index <= index;
            {r_z_to, r_load_to, r_y_to, r_x_to, r_and_to} <= word[ovl_pkg::WRITE_AT +: WRITES * ADDRESS_BITS];
            r_label <= next_label;
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
    reg s1_and, s1_x, s1_y, s1_z;
    reg [31:0] s1_index;
    reg [ADDRESS_BITS-1:0] s1_and_to, s1_x_to, s1_y_to, s1_z_to;
    reg [127:0] s1_a, s1_b, s1_post, s1_sum_x, s1_sum_y, s1_sum_z;
    always @(posedge clk) begin
        if (reset) {s1_and, s1_x, s1_y, s1_z, s1_output} <= 5'b0;
        else if (advance) {s1_and, s1_x, s1_y, s1_z, s1_output} <= {r_and, r_x, r_y, r_z, r_output};
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
    assign result_push = advance & s1_output;
    assign result = s1_sum_x;

    // Cycles t + 3 to t + 14: half gates. Cycle t + 14: the row leaves, and the label is written.
    wire [127:0] garbler_half, evaluator_half, and_label;
    wire [ADDRESS_BITS-1:0] and_to;
    hg_cell #(.INDEX_BITS(32), .TAG_BITS(ADDRESS_BITS)) cell_and (
        .clk(clk), .reset(reset), .advance(advance), .start(start), .delta(offset),
        .valid(s1_and), .index(s1_index), .a(s1_a), .b(s1_b), .post(s1_post), .tag(s1_and_to),
        .evaluate(evaluate), .row_needed(row_needed), .row(row_in), .row_valid(garbled), .garbler_half(garbler_half), .evaluator_half(evaluator_half),
        .result(and_label), .result_tag(and_to)
    );
    assign row_push = advance & row_push_due;
    assign row = {evaluator_half, garbler_half};

    wm_banks #(.BANK_BITS(BANK_BITS), .ROW_BITS(ROW_BITS), .READS(READS), .WRITES(WRITES)) memory (
        .clk(clk), .advance(advance),
        .read_valid(read_valid & {READS{issue}}),
        .read_address(word[ovl_pkg::READ_AT +: READS * ADDRESS_BITS]),
        .read_label(read),
        .write_valid({s1_z, r_load, s1_y, s1_x, garbled}),
        .write_address({s1_z_to, r_load_to, s1_y_to, s1_x_to, and_to}),
        .write_label({s1_sum_z, r_label, s1_sum_y, s1_sum_x, and_label}), .collision(collision)
    );
endmodule

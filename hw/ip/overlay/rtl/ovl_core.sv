// The overlay: takes words, has its cells do what they say, and freezes as a whole when the host is not ready.
//
// A word has a lane for each cell. All cells issue and stop together, so one schedule holds for all of them. At most one
// lane gives a result to the host in a cycle. A label of the host goes to all lanes that load in this cycle.
//
// A run: `go`; the header word; words with check words between them; the last word; the drain. In each cycle in
// which `advance` is set, one word issues or one idle cycle passes, and every register of the pipeline moves. So the
// number of such cycles is that of the schedule, whatever the host does.
module ovl_core #(
    parameter BANK_BITS = ovl_pkg::BANK_BITS,
    parameter ROW_BITS = ovl_pkg::ROW_BITS,
    parameter CELLS = ovl_pkg::CELLS
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
    input  wire [CELLS*ovl_pkg::LANE_BITS-1:0] word_data,
    // Words come from memory: a read failed, or the last word was given.
    input  wire                          memory_failed,
    input  wire                          words_ended,
    // Labels that are stored for a time go to memory, where each cell has its own, and come from there.
    input  wire                          stores_labels,
    output wire [CELLS-1:0]              store,
    output wire [CELLS*128-1:0]          store_label,
    input  wire [CELLS-1:0]              store_full,
    input  wire [CELLS-1:0]              fill_valid,
    output wire [CELLS-1:0]              fill_pop,
    input  wire [CELLS*128-1:0]          fill_label,
    input  wire                          label_valid,
    output wire                          label_ready,
    input  wire [127:0]                  label_data,
    input  wire                          row_in_valid,
    output wire                          row_in_ready,
    // A beat has a place for each cell, which is used if the cell evaluates a gate.
    input  wire [CELLS*256-1:0]          row_in_data,
    output wire                          row_valid,
    input  wire                          row_ready,
    // The same for rows that leave; row_keep says which places are used.
    output wire [CELLS*256-1:0]          row_data,
    output wire [CELLS-1:0]              row_keep,
    output wire                          result_valid,
    input  wire                          result_ready,
    output wire [127:0]                  result_data
);
    localparam LANE_BITS = ovl_pkg::LANE_BITS;
    localparam EXPORT_BITS = 1 + ovl_pkg::CELL_BITS + ovl_pkg::ADDRESS_BITS + 128;

    localparam [2:0] IDLE = 3'd0, HEADER = 3'd1, RUN = 3'd2, DRAIN = 3'd3, FLUSH = 3'd4, DONE = 3'd5, FAILED = 3'd6;
    reg [2:0] state;
    assign busy = state == HEADER || state == RUN || state == DRAIN || state == FLUSH;
    assign done = state == DONE;

    wire advance;

    // Queues at the streams.
    wire word_full, word_pop, has_word;
    wire [CELLS*LANE_BITS-1:0] word;
    assign word_ready = !word_full;
    ovl_fifo #(.WIDTH(CELLS * LANE_BITS)) word_fifo (
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
    wire row_in_full, has_row_in;
    wire [CELLS-1:0] rows_needed;
    wire row_needed = |rows_needed;
    wire [CELLS*256-1:0] row_in;
    assign row_in_ready = !row_in_full;
    ovl_fifo #(.WIDTH(CELLS * 256)) row_in_fifo (
        .clk(clk), .reset(reset | go), .push(row_in_valid & row_in_ready), .in(row_in_data), .full(row_in_full),
        .pop(advance & row_needed), .out(row_in), .valid(has_row_in)
    );
    wire row_full, row_push, has_row, result_full, result_push, has_result;
    wire [CELLS*256-1:0] row;
    wire [CELLS-1:0] garbled;
    reg [127:0] result;
    assign row_valid = has_row;
    ovl_fifo #(.WIDTH(CELLS * 257)) row_fifo (
        .clk(clk), .reset(reset | go), .push(row_push), .in({garbled, row}), .full(row_full),
        .pop(row_valid & row_ready), .out({row_keep, row_data}), .valid(has_row)
    );
    assign result_valid = has_result;
    ovl_fifo #(.WIDTH(128)) result_fifo (
        .clk(clk), .reset(reset | go), .push(result_push), .in(result), .full(result_full),
        .pop(result_valid & result_ready), .out(result_data), .valid(has_result)
    );

    // Fields that all lanes have in common.
    wire is_end = word[ovl_pkg::END_AT];
    wire [7:0] idle_after = word[ovl_pkg::IDLE_AT +: 8];
    wire is_last = idle_after == 8'd255;

    // Control.
    reg [7:0] idle;
    reg [4:0] drain;
    wire [CELLS*128-1:0] results;
    // Of each lane: whether it loads, from memory or the host, and the CRC of what was taken since the last check.
    wire [CELLS-1:0] loads, fills, lanes_fail, outputs, stores, collisions;
    wire [CELLS*32-1:0] crc_next;
    reg [CELLS*32-1:0] crc;
    genvar c;
    generate
        for (c = 0; c < CELLS; c = c + 1) begin : lane
            ovl_crc #(.WIDTH(LANE_BITS)) check (
                .crc(crc[c * 32 +: 32]), .data(word[c * LANE_BITS +: LANE_BITS]), .next(crc_next[c * 32 +: 32])
            );
            assign loads[c] = word[c * LANE_BITS + ovl_pkg::WRITE_VALID_AT + 3];
            assign fills[c] = loads[c] & word[c * LANE_BITS + ovl_pkg::FILL_AT] & stores_labels;
            assign lanes_fail[c] = word[c * LANE_BITS + ovl_pkg::INDEX_AT +: 32] != ~crc[c * 32 +: 32];
        end
    endgenerate
    wire is_load = |(loads & ~fills);
    wire lacks_fill = |(fills & ~fill_valid);
    wire row_push_due = |garbled & !evaluate;
    wire output_due = |outputs;
    wire streams_ready = !(row_push_due & row_full) & !(output_due & result_full) & !(row_needed & !has_row_in)
        & !(|(stores & store_full));
    wire takes_word = state == RUN && idle == 8'd0;
    wire collision = |collisions;
    wire check_fails = takes_word & has_word & is_end & |lanes_fail;
    wire can_issue = has_word & !check_fails & (is_end | ((!is_load | has_label) & !lacks_fill));
    assign advance = streams_ready & (state == DRAIN | (state == RUN & (idle != 8'd0 | can_issue)));
    wire issue = advance & takes_word & !is_end;
    wire takes_header = state == HEADER & has_word;
    assign word_pop = takes_header | (advance & takes_word);
    assign label_pop = issue & is_load;
    assign fill_pop = fills & {CELLS{issue}};
    assign store = stores & {CELLS{advance}};
    assign store_label = results;
    wire is_short = words_ended & !has_word & (takes_word | state == HEADER);

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
            crc <= {CELLS{32'hffff_ffff}};
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
                    crc <= {CELLS{32'hffff_ffff}};
                end
                HEADER: if (memory_failed | is_short) begin
                    state <= FAILED;
                    error <= memory_failed ? ovl_pkg::ERROR_MEMORY : ovl_pkg::ERROR_SHORT;
                end else if (has_word) begin
                    crc <= crc_next;
                    if (word[31:0] != ovl_pkg::MAGIC) begin
                        state <= FAILED;
                        error <= ovl_pkg::ERROR_HEADER;
                    end else if (word[127:64] != ovl_pkg::PARAMETER_HASH
                        || word[ovl_pkg::HEADER_CELLS_AT +: 32] != CELLS) begin
                        state <= FAILED;
                        error <= ovl_pkg::ERROR_PARAMETERS;
                    end else state <= RUN;
                end
                RUN: if (check_fails) begin
                    state <= FAILED;
                    error <= ovl_pkg::ERROR_CHECK;
                end else if (memory_failed | is_short) begin
                    state <= FAILED;
                    error <= memory_failed ? ovl_pkg::ERROR_MEMORY : ovl_pkg::ERROR_SHORT;
                end else if (advance) begin
                    if (idle != 8'd0) idle <= idle - 8'd1;
                    else if (is_end) begin
                        crc <= {CELLS{32'hffff_ffff}};
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

    // The cells. Each sees what all of them send. What a run that stopped left in them does not go into the next one.
    wire [CELLS*EXPORT_BITS-1:0] exports;
    generate
        for (c = 0; c < CELLS; c = c + 1) begin : cells
            ovl_cell #(.BANK_BITS(BANK_BITS), .ROW_BITS(ROW_BITS), .CELLS(CELLS), .NUMBER(c)) unit (
                .clk(clk), .reset(reset | go), .advance(advance), .issue(issue), .evaluate(evaluate), .start(start), .delta(delta),
                .lane(word[c * LANE_BITS +: LANE_BITS]), .label(fills[c] ? fill_label[c * 128 +: 128] : next_label),
                .stores_labels(stores_labels), .store_due(stores[c]),
                .exports(exports), .sent(exports[c * EXPORT_BITS +: EXPORT_BITS]),
                .output_due(outputs[c]), .result(results[c * 128 +: 128]),
                .row_needed(rows_needed[c]), .row_in(row_in[c * 256 +: 256]),
                .garbled(garbled[c]), .row(row[c * 256 +: 256]), .collision(collisions[c])
            );
        end
    endgenerate
    assign result_push = advance & output_due;
    assign row_push = advance & row_push_due;
    integer i;
    always @* begin
        result = 128'h0;
        for (i = 0; i < CELLS; i = i + 1) if (outputs[i]) result = result | results[i * 128 +: 128];
    end
endmodule

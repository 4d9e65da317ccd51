// The memory port of one cell, AXI4: reads its words, and writes labels for a time and reads them again.
//
// The memory has, from `base` on: the lanes of the words; at `fill_offset` beats a list of 64-bit numbers of the labels that
// the cell reads again, in the order in which it does; at `label_offset` beats the labels, in the order in which they are
// written. A label is asked for when the memory has answered that it was written, and as early as the queue has space for it,
// so it is there when a word needs it, unless the memory is slow.
//
// Reads have identifiers: 0 words, 1 the list, 2 labels. The memory may answer them in any order of identifiers.
module ovl_port #(
    parameter LANE_BITS = ovl_pkg::LANE_BITS,
    parameter DATA_BITS = ovl_pkg::MEMORY_BITS,
    // Logarithm of the labels that are asked for before words need them.
    parameter FILL_BITS = ovl_pkg::FILL_AHEAD_BITS
) (
    input  wire                   clk,
    input  wire                   reset,
    // A run begins, whose words or labels are in memory; only if the port is not busy.
    input  wire                   go,
    input  wire                   stop,
    input  wire                   has_words,
    input  wire                   has_labels,
    input  wire [63:0]            base,
    input  wire [31:0]            word_count,
    input  wire [31:0]            fill_offset,
    input  wire [31:0]            fill_count,
    input  wire [31:0]            label_offset,
    output wire                   busy,
    // The memory answered with an error in this run.
    output wire                   failed,
    output wire                   words_ended,
    output wire                   lane_valid,
    input  wire                   lane_ready,
    output wire [LANE_BITS-1:0]   lane,
    input  wire                   store,
    input  wire [127:0]           store_label,
    output wire                   store_full,
    output wire                   fill_valid,
    input  wire                   fill_pop,
    output wire [127:0]           fill_label,
    output wire [1:0]             arid,
    output wire [63:0]            araddr,
    output wire [7:0]             arlen,
    output wire                   arvalid,
    input  wire                   arready,
    input  wire [1:0]             rid,
    input  wire [DATA_BITS-1:0]   rdata,
    input  wire [1:0]             rresp,
    input  wire                   rvalid,
    output wire [63:0]            awaddr,
    output wire                   awvalid,
    input  wire                   awready,
    output wire [DATA_BITS-1:0]   wdata,
    output wire [DATA_BITS/8-1:0] wstrb,
    output wire                   wvalid,
    input  wire                   wready,
    // The lower bit only says which error it is.
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire [1:0]             bresp,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire                   bvalid
);
    localparam BYTE_BITS = $clog2(DATA_BITS / 8);
    // Which label of a beat.
    localparam PART_BITS = $clog2(DATA_BITS / 128);
    localparam [1:0] WORDS = 2'd0, LIST = 2'd1, LABELS = 2'd2;

    wire words_busy, words_failed, list_busy, list_failed;
    wire [63:0] words_araddr, list_araddr;
    wire [7:0] words_arlen, list_arlen;
    wire words_arvalid, list_arvalid, words_arready, list_arready;
    ovl_reader #(.LANE_BITS(LANE_BITS), .DATA_BITS(DATA_BITS)) words (
        .clk(clk), .reset(reset), .go(go & has_words), .stop(stop), .base(base), .count(word_count),
        .busy(words_busy), .failed(words_failed), .ended(words_ended),
        .lane_valid(lane_valid), .lane_ready(lane_ready), .lane(lane),
        .araddr(words_araddr), .arlen(words_arlen), .arvalid(words_arvalid), .arready(words_arready),
        .rdata(rdata), .rresp(rresp), .rvalid(rvalid & rid == WORDS)
    );
    wire list_valid, list_pop;
    wire [63:0] number;
    // Beats.
    localparam BEAT_BITS = 64 - BYTE_BITS;
    wire [BEAT_BITS-1:0] list_at = base[63:BYTE_BITS] + {{(BEAT_BITS - 32){1'b0}}, fill_offset};
    wire [BEAT_BITS-1:0] labels_at = base[63:BYTE_BITS] + {{(BEAT_BITS - 32){1'b0}}, label_offset};
    /* verilator lint_off PINCONNECTEMPTY */
    ovl_reader #(.LANE_BITS(64), .DATA_BITS(DATA_BITS), .DEPTH_BITS(ovl_pkg::BURST_BITS + 1)) list (
        .clk(clk), .reset(reset), .go(go & has_labels), .stop(stop), .base({list_at, {BYTE_BITS{1'b0}}}), .count(fill_count),
        .busy(list_busy), .failed(list_failed), .ended(),
        .lane_valid(list_valid), .lane_ready(list_pop), .lane(number),
        .araddr(list_araddr), .arlen(list_arlen), .arvalid(list_arvalid), .arready(list_arready),
        .rdata(rdata), .rresp(rresp), .rvalid(rvalid & rid == LIST)
    );

    // Labels to write, each as a part of a beat. What was begun is ended, also after `stop`.
    wire has_store, store_pop;
    wire [127:0] next_store;
    reg [63:0] written, stored;
    reg address_sent, data_sent, write_failed;
    ovl_fifo #(.WIDTH(128), .DEPTH_BITS(4)) stores (
        .clk(clk), .reset(reset | go), .push(store), .in(store_label), .full(store_full),
        .pop(store_pop), .out(next_store), .valid(has_store)
    );
    wire [BEAT_BITS-1:0] written_at = labels_at + written[BEAT_BITS+PART_BITS-1:PART_BITS];
    assign awaddr = {written_at, {BYTE_BITS{1'b0}}};
    assign awvalid = has_store & !address_sent;
    assign wvalid = has_store & !data_sent;
    assign wdata = {(DATA_BITS / 128){next_store}};
    assign wstrb = {{(DATA_BITS / 8 - 16){1'b0}}, 16'hffff} << {written[PART_BITS-1:0], 4'd0};
    assign store_pop = has_store & (address_sent | awready) & (data_sent | wready);

    // Labels to read again: each as one beat, of which it is a part.
    reg running, label_arvalid, read_failed;
    reg [63:0] label_araddr;
    reg [FILL_BITS:0] free, pending;
    wire label_arready;
    wire [BEAT_BITS-1:0] number_at = labels_at + number[BEAT_BITS+PART_BITS-1:PART_BITS];
    wire label_comes = rvalid & rid == LABELS;
    assign list_pop = running & list_valid & number < stored & !label_arvalid & free != {(FILL_BITS + 1){1'b0}};
    wire [PART_BITS-1:0] part;
    ovl_fifo #(.WIDTH(PART_BITS), .DEPTH_BITS(FILL_BITS)) parts (
        .clk(clk), .reset(reset | go), .push(list_pop), .in(number[PART_BITS-1:0]), .full(),
        .pop(label_comes), .out(part), .valid()
    );
    ovl_fifo #(.WIDTH(128), .DEPTH_BITS(FILL_BITS)) labels (
        .clk(clk), .reset(reset | go), .push(label_comes), .in(rdata[{part, 7'd0} +: 128]), .full(),
        .pop(fill_pop), .out(fill_label), .valid(fill_valid)
    );
    /* verilator lint_on PINCONNECTEMPTY */
    always @(posedge clk) begin
        if (reset) begin
            written <= 64'd0;
            stored <= 64'd0;
            {address_sent, data_sent, write_failed, read_failed, running, label_arvalid} <= 6'd0;
            free <= {1'b1, {FILL_BITS{1'b0}}};
            pending <= {(FILL_BITS + 1){1'b0}};
        end else if (go) begin
            written <= 64'd0;
            stored <= 64'd0;
            {write_failed, read_failed} <= 2'd0;
            running <= has_labels;
            free <= {1'b1, {FILL_BITS{1'b0}}};
        end else begin
            if (stop) running <= 1'b0;
            address_sent <= has_store & !store_pop & (address_sent | awready);
            data_sent <= has_store & !store_pop & (data_sent | wready);
            if (store_pop) written <= written + 64'd1;
            if (bvalid) stored <= stored + 64'd1;
            if (bvalid & bresp[1]) write_failed <= 1'b1;
            if (label_arready) label_arvalid <= 1'b0;
            if (list_pop) begin
                label_arvalid <= 1'b1;
                label_araddr <= {number_at, {BYTE_BITS{1'b0}}};
            end
            free <= free - {{FILL_BITS{1'b0}}, list_pop} + {{FILL_BITS{1'b0}}, fill_pop};
            pending <= pending + {{FILL_BITS{1'b0}}, list_pop} - {{FILL_BITS{1'b0}}, label_comes};
            if (label_comes & rresp[1]) read_failed <= 1'b1;
        end
    end
    assign failed = words_failed & has_words | has_labels & (list_failed | write_failed | read_failed);
    assign busy = words_busy | list_busy | has_store | written != stored | pending != {(FILL_BITS + 1){1'b0}};

    // One address at a time; an address that is offered stays. Labels come first, because a word may wait for them.
    reg is_held;
    reg [1:0] held;
    assign arid = is_held ? held : label_arvalid ? LABELS : list_arvalid ? LIST : WORDS;
    assign arvalid = label_arvalid | list_arvalid | words_arvalid;
    assign araddr = arid == LABELS ? label_araddr : arid == LIST ? list_araddr : words_araddr;
    assign arlen = arid == LABELS ? 8'd0 : arid == LIST ? list_arlen : words_arlen;
    assign label_arready = arready & arid == LABELS;
    assign list_arready = arready & arid == LIST;
    assign words_arready = arready & arid == WORDS;
    always @(posedge clk) begin
        is_held <= !reset & arvalid & !arready;
        held <= arid;
    end
endmodule

// The overlay with AXI4-Lite registers, AXI4-Stream ports (words, labels and rows in, rows and results out), and an AXI4
// port for each cell, which reads the words of the cell if they are in memory, and stores labels there for a time.
//
// Port c of the memory has bits c * width of each m_axi vector. Registers are 32 bits wide; ovl_pkg has their addresses, docs/hardware.md their meaning. One access at a time.
module ovl_top #(
    // 1 to 16.
    parameter CELLS = ovl_pkg::CELLS,
    // Bits of a beat of each memory port: a power of two.
    parameter MEMORY_BITS = ovl_pkg::MEMORY_BITS
) (
    input  wire                          clk,
    input  wire                          resetn,
    input  wire [7:0]                    s_axil_awaddr,
    input  wire                          s_axil_awvalid,
    output wire                          s_axil_awready,
    input  wire [31:0]                   s_axil_wdata,
    input  wire                          s_axil_wvalid,
    output wire                          s_axil_wready,
    output wire [1:0]                    s_axil_bresp,
    output reg                           s_axil_bvalid,
    input  wire                          s_axil_bready,
    input  wire [7:0]                    s_axil_araddr,
    input  wire                          s_axil_arvalid,
    output wire                          s_axil_arready,
    output reg  [31:0]                   s_axil_rdata,
    output wire [1:0]                    s_axil_rresp,
    output reg                           s_axil_rvalid,
    input  wire                          s_axil_rready,
    input  wire                          s_axis_word_tvalid,
    output wire                          s_axis_word_tready,
    input  wire [CELLS*ovl_pkg::LANE_BITS-1:0] s_axis_word_tdata,
    input  wire                          s_axis_label_tvalid,
    output wire                          s_axis_label_tready,
    input  wire [127:0]                  s_axis_label_tdata,
    input  wire                          s_axis_row_tvalid,
    output wire                          s_axis_row_tready,
    input  wire [CELLS*256-1:0]          s_axis_row_tdata,
    output wire                          m_axis_row_tvalid,
    input  wire                          m_axis_row_tready,
    output wire [CELLS*256-1:0]          m_axis_row_tdata,
    output wire [CELLS*32-1:0]           m_axis_row_tkeep,
    output wire                          m_axis_result_tvalid,
    input  wire                          m_axis_result_tready,
    output wire [127:0]                  m_axis_result_tdata,
    output wire [CELLS*2-1:0]            m_axi_arid,
    output wire [CELLS*64-1:0]           m_axi_araddr,
    output wire [CELLS*8-1:0]            m_axi_arlen,
    output wire [CELLS*3-1:0]            m_axi_arsize,
    output wire [CELLS*2-1:0]            m_axi_arburst,
    output wire [CELLS*4-1:0]            m_axi_arcache,
    output wire [CELLS*3-1:0]            m_axi_arprot,
    output wire [CELLS-1:0]              m_axi_arvalid,
    input  wire [CELLS-1:0]              m_axi_arready,
    input  wire [CELLS*2-1:0]            m_axi_rid,
    input  wire [CELLS*MEMORY_BITS-1:0]  m_axi_rdata,
    input  wire [CELLS*2-1:0]            m_axi_rresp,
    // The number of beats says the same.
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire [CELLS-1:0]              m_axi_rlast,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire [CELLS-1:0]              m_axi_rvalid,
    output wire [CELLS-1:0]              m_axi_rready,
    output wire [CELLS*64-1:0]           m_axi_awaddr,
    output wire [CELLS*8-1:0]            m_axi_awlen,
    output wire [CELLS*3-1:0]            m_axi_awsize,
    output wire [CELLS*2-1:0]            m_axi_awburst,
    output wire [CELLS*4-1:0]            m_axi_awcache,
    output wire [CELLS*3-1:0]            m_axi_awprot,
    output wire [CELLS-1:0]              m_axi_awvalid,
    input  wire [CELLS-1:0]              m_axi_awready,
    output wire [CELLS*MEMORY_BITS-1:0]  m_axi_wdata,
    output wire [CELLS*MEMORY_BITS/8-1:0] m_axi_wstrb,
    output wire [CELLS-1:0]              m_axi_wlast,
    output wire [CELLS-1:0]              m_axi_wvalid,
    input  wire [CELLS-1:0]              m_axi_wready,
    input  wire [CELLS*2-1:0]            m_axi_bresp,
    input  wire [CELLS-1:0]              m_axi_bvalid,
    output wire [CELLS-1:0]              m_axi_bready
);
    localparam LANE_BITS = ovl_pkg::LANE_BITS;

    reg [127:0] start;
    reg [127:0] delta;
    reg go;
    reg evaluate;
    // Whether words and stored labels of a run are in memory, and where those of each cell begin.
    reg from_memory, stores_labels;
    reg [31:0] word_count, fill_offset, fill_count, label_offset;
    reg [CELLS*64-1:0] word_base;
    wire core_busy, done, collided;
    wire [CELLS-1:0] ports_busy;
    wire busy = core_busy | |ports_busy;
    wire [3:0] error;
    wire [63:0] cycles, stalls, words;

    // Write: address and data are taken together.
    wire writes = s_axil_awvalid & s_axil_wvalid & !s_axil_bvalid;
    assign s_axil_awready = writes;
    assign s_axil_wready = writes;
    assign s_axil_bresp = 2'b00;
    integer i;
    always @(posedge clk) begin
        go <= 1'b0;
        if (!resetn) begin
            s_axil_bvalid <= 1'b0;
            start <= 128'h0;
            delta <= 128'h0;
            evaluate <= 1'b0;
            from_memory <= 1'b0;
            stores_labels <= 1'b0;
            {word_count, fill_offset, fill_count, label_offset} <= 128'd0;
            word_base <= {CELLS{64'd0}};
        end else begin
            if (s_axil_bready) s_axil_bvalid <= 1'b0;
            if (writes) begin
                s_axil_bvalid <= 1'b1;
                if (s_axil_awaddr == ovl_pkg::REG_CONTROL && !busy) begin
                    go <= s_axil_wdata[0];
                    evaluate <= s_axil_wdata[1];
                    from_memory <= s_axil_wdata[2];
                    stores_labels <= s_axil_wdata[3];
                end
                if (s_axil_awaddr == ovl_pkg::REG_WORD_COUNT) word_count <= s_axil_wdata;
                if (s_axil_awaddr == ovl_pkg::REG_FILL_OFFSET) fill_offset <= s_axil_wdata;
                if (s_axil_awaddr == ovl_pkg::REG_FILL_COUNT) fill_count <= s_axil_wdata;
                if (s_axil_awaddr == ovl_pkg::REG_LABEL_OFFSET) label_offset <= s_axil_wdata;
                for (i = 0; i < 2 * CELLS; i = i + 1) begin
                    if (s_axil_awaddr[7] == ovl_pkg::REG_WORD_BASE[7] && s_axil_awaddr[6:2] == i[4:0])
                        word_base[i * 32 +: 32] <= s_axil_wdata;
                end
                if (s_axil_awaddr[7:4] == ovl_pkg::REG_START[7:4])
                    start[{s_axil_awaddr[3:2], 5'b0} +: 32] <= s_axil_wdata;
                if (s_axil_awaddr[7:4] == ovl_pkg::REG_DELTA[7:4])
                    delta[{s_axil_awaddr[3:2], 5'b0} +: 32] <= s_axil_wdata;
            end
        end
    end

    // Read. The offset and the start value cannot be read back.
    assign s_axil_arready = s_axil_arvalid & !s_axil_rvalid;
    assign s_axil_rresp = 2'b00;
    always @(posedge clk) begin
        if (!resetn) s_axil_rvalid <= 1'b0;
        else begin
            if (s_axil_rready) s_axil_rvalid <= 1'b0;
            if (s_axil_arready) s_axil_rvalid <= 1'b1;
        end
        if (s_axil_arready) begin
            case (s_axil_araddr)
                ovl_pkg::REG_ID: s_axil_rdata <= ovl_pkg::MAGIC;
                ovl_pkg::REG_VERSION: s_axil_rdata <= ovl_pkg::VERSION;
                ovl_pkg::REG_HASH_LOW: s_axil_rdata <= ovl_pkg::PARAMETER_HASH[31:0];
                ovl_pkg::REG_HASH_HIGH: s_axil_rdata <= ovl_pkg::PARAMETER_HASH[63:32];
                ovl_pkg::REG_STATUS: s_axil_rdata <= {23'h0, collided, error, 2'b0, done, busy};
                ovl_pkg::REG_CYCLES_LOW: s_axil_rdata <= cycles[31:0];
                ovl_pkg::REG_CYCLES_HIGH: s_axil_rdata <= cycles[63:32];
                ovl_pkg::REG_STALLS_LOW: s_axil_rdata <= stalls[31:0];
                ovl_pkg::REG_STALLS_HIGH: s_axil_rdata <= stalls[63:32];
                ovl_pkg::REG_WORDS_LOW: s_axil_rdata <= words[31:0];
                ovl_pkg::REG_WORDS_HIGH: s_axil_rdata <= words[63:32];
                ovl_pkg::REG_CELLS: s_axil_rdata <= CELLS;
                default: s_axil_rdata <= 32'h0;
            endcase
        end
    end

    // A row is 32 bytes, all of which are there or none.
    wire [CELLS-1:0] row_keep;
    genvar c;
    generate
        for (c = 0; c < CELLS; c = c + 1) begin : keep
            assign m_axis_row_tkeep[c * 32 +: 32] = {32{row_keep[c]}};
        end
    endgenerate

    // Memory. All cells take their words in the same cycle.
    wire [CELLS-1:0] lanes_valid, ports_failed, words_ended, store, store_full, fill_valid, fill_pop;
    wire [CELLS*128-1:0] store_label, fill_label;
    wire [CELLS*LANE_BITS-1:0] lanes;
    wire word_ready;
    wire lanes_there = from_memory & (&lanes_valid);
    generate
        for (c = 0; c < CELLS; c = c + 1) begin : memory
            ovl_port #(.DATA_BITS(MEMORY_BITS)) port (
                .clk(clk), .reset(!resetn), .go(go), .stop(!core_busy), .has_words(from_memory), .has_labels(stores_labels),
                .base(word_base[c * 64 +: 64]), .word_count(word_count),
                .fill_offset(fill_offset), .fill_count(fill_count), .label_offset(label_offset),
                .busy(ports_busy[c]), .failed(ports_failed[c]), .words_ended(words_ended[c]),
                .lane_valid(lanes_valid[c]), .lane_ready(lanes_there & word_ready), .lane(lanes[c * LANE_BITS +: LANE_BITS]),
                .store(store[c]), .store_label(store_label[c * 128 +: 128]), .store_full(store_full[c]),
                .fill_valid(fill_valid[c]), .fill_pop(fill_pop[c]), .fill_label(fill_label[c * 128 +: 128]),
                .arid(m_axi_arid[c * 2 +: 2]), .araddr(m_axi_araddr[c * 64 +: 64]), .arlen(m_axi_arlen[c * 8 +: 8]),
                .arvalid(m_axi_arvalid[c]), .arready(m_axi_arready[c]), .rid(m_axi_rid[c * 2 +: 2]),
                .rdata(m_axi_rdata[c * MEMORY_BITS +: MEMORY_BITS]), .rresp(m_axi_rresp[c * 2 +: 2]), .rvalid(m_axi_rvalid[c]),
                .awaddr(m_axi_awaddr[c * 64 +: 64]), .awvalid(m_axi_awvalid[c]), .awready(m_axi_awready[c]),
                .wdata(m_axi_wdata[c * MEMORY_BITS +: MEMORY_BITS]),
                .wstrb(m_axi_wstrb[c * MEMORY_BITS / 8 +: MEMORY_BITS / 8]),
                .wvalid(m_axi_wvalid[c]), .wready(m_axi_wready[c]), .bresp(m_axi_bresp[c * 2 +: 2]), .bvalid(m_axi_bvalid[c])
            );
        end
    endgenerate
    // Whole beats, at addresses that rise, for ordinary memory.
    localparam BEAT_SIZE = $clog2(MEMORY_BITS / 8);
    assign m_axi_arsize = {CELLS{BEAT_SIZE[2:0]}};
    assign m_axi_arburst = {CELLS{2'b01}};
    assign m_axi_arcache = {CELLS{4'b0011}};
    assign m_axi_arprot = {CELLS{3'b000}};
    // A port asks only for what it has space for.
    assign m_axi_rready = {CELLS{1'b1}};
    assign m_axi_bready = {CELLS{1'b1}};
    assign m_axi_awlen = {CELLS{8'd0}};
    assign m_axi_awsize = m_axi_arsize;
    assign m_axi_awburst = m_axi_arburst;
    assign m_axi_awcache = m_axi_arcache;
    assign m_axi_awprot = m_axi_arprot;
    assign m_axi_wlast = {CELLS{1'b1}};
    assign s_axis_word_tready = word_ready & !from_memory;

    ovl_core #(.CELLS(CELLS)) core (
        .clk(clk), .reset(!resetn), .go(go), .evaluate(evaluate), .start(start), .delta(delta), .busy(core_busy), .done(done),
        .error(error), .cycles(cycles), .stalls(stalls), .words(words), .collided(collided),
        .word_valid(from_memory ? lanes_there : s_axis_word_tvalid), .word_ready(word_ready),
        .word_data(from_memory ? lanes : s_axis_word_tdata),
        .memory_failed(|ports_failed), .words_ended(from_memory & (&words_ended)),
        .stores_labels(stores_labels), .store(store), .store_label(store_label), .store_full(store_full),
        .fill_valid(fill_valid), .fill_pop(fill_pop), .fill_label(fill_label),
        .label_valid(s_axis_label_tvalid), .label_ready(s_axis_label_tready), .label_data(s_axis_label_tdata),
        .row_in_valid(s_axis_row_tvalid), .row_in_ready(s_axis_row_tready), .row_in_data(s_axis_row_tdata),
        .row_valid(m_axis_row_tvalid), .row_ready(m_axis_row_tready), .row_data(m_axis_row_tdata),
        .row_keep(row_keep),
        .result_valid(m_axis_result_tvalid), .result_ready(m_axis_result_tready), .result_data(m_axis_result_tdata)
    );
endmodule

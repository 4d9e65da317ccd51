// The overlay with AXI4-Lite registers and AXI4-Stream ports: words, labels and rows in, rows and results out.
//
// Registers are 32 bits wide; ovl_pkg has their addresses, docs/hardware.md their meaning. One access at a time.
module ovl_top #(
    // 1 to 16.
    parameter CELLS = ovl_pkg::CELLS
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
    output wire [127:0]                  m_axis_result_tdata
);
    reg [127:0] start;
    reg [127:0] delta;
    reg go;
    reg evaluate;
    wire busy, done, collided;
    wire [3:0] error;
    wire [63:0] cycles, stalls, words;

    // Write: address and data are taken together.
    wire writes = s_axil_awvalid & s_axil_wvalid & !s_axil_bvalid;
    assign s_axil_awready = writes;
    assign s_axil_wready = writes;
    assign s_axil_bresp = 2'b00;
    always @(posedge clk) begin
        go <= 1'b0;
        if (!resetn) begin
            s_axil_bvalid <= 1'b0;
            start <= 128'h0;
            delta <= 128'h0;
            evaluate <= 1'b0;
        end else begin
            if (s_axil_bready) s_axil_bvalid <= 1'b0;
            if (writes) begin
                s_axil_bvalid <= 1'b1;
                if (s_axil_awaddr == ovl_pkg::REG_CONTROL && !busy) begin
                    go <= s_axil_wdata[0];
                    evaluate <= s_axil_wdata[1];
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

    ovl_core #(.CELLS(CELLS)) core (
        .clk(clk), .reset(!resetn), .go(go), .evaluate(evaluate), .start(start), .delta(delta), .busy(busy), .done(done),
        .error(error), .cycles(cycles), .stalls(stalls), .words(words), .collided(collided),
        .word_valid(s_axis_word_tvalid), .word_ready(s_axis_word_tready), .word_data(s_axis_word_tdata),
        .label_valid(s_axis_label_tvalid), .label_ready(s_axis_label_tready), .label_data(s_axis_label_tdata),
        .row_in_valid(s_axis_row_tvalid), .row_in_ready(s_axis_row_tready), .row_in_data(s_axis_row_tdata),
        .row_valid(m_axis_row_tvalid), .row_ready(m_axis_row_tready), .row_data(m_axis_row_tdata),
        .row_keep(row_keep),
        .result_valid(m_axis_result_tvalid), .result_ready(m_axis_result_tready), .result_data(m_axis_result_tdata)
    );
endmodule

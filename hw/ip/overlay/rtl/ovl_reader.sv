// Reads the words of one cell from memory, ahead of the cell, by bursts of an AXI4 port.
//
// It asks for a burst only if its queue has space for all beats, so it always takes what comes. A burst ends at a multiple
// of its greatest length, so it never crosses 4 KiB. A beat has another size than the lane of a word: beats go through a
// buffer, from whose lower end lanes are taken. After `stop` it asks for nothing more, and is busy until all beats that it
// asked for have come.
module ovl_reader #(
    parameter LANE_BITS = ovl_pkg::LANE_BITS,
    parameter DATA_BITS = ovl_pkg::MEMORY_BITS,
    parameter DEPTH_BITS = ovl_pkg::READ_AHEAD_BITS,
    parameter BURST_BITS = ovl_pkg::BURST_BITS
) (
    input  wire                 clk,
    input  wire                 reset,
    // Begins a run; only if it is not busy.
    input  wire                 go,
    input  wire                 stop,
    // Address of the first word; bits within a beat are ignored.
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire [63:0]          base,
    /* verilator lint_on UNUSEDSIGNAL */
    // Words that are there.
    input  wire [31:0]          count,
    output wire                 busy,
    // The memory answered with an error in this run.
    output reg                  failed,
    // The last word was given.
    output wire                 ended,
    output wire                 lane_valid,
    input  wire                 lane_ready,
    output wire [LANE_BITS-1:0] lane,
    output reg  [63:0]          araddr,
    output reg  [7:0]           arlen,
    output reg                  arvalid,
    input  wire                 arready,
    input  wire [DATA_BITS-1:0] rdata,
    // The lower bit only says which error it is.
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire [1:0]           rresp,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire                 rvalid
);
    localparam BYTE_BITS = $clog2(DATA_BITS / 8);
    // A buffer of a lane and a beat: with less, a lane could not leave in every cycle. It counts quadwords of 64 bits.
    localparam LANE_QUADS = LANE_BITS / 64;
    localparam BEAT_QUADS = DATA_BITS / 64;
    localparam HELD_BITS = $clog2(LANE_QUADS + BEAT_QUADS + 1);
    localparam BUFFER_BITS = LANE_BITS + DATA_BITS;
    localparam COUNT_BITS = 40;

    reg running;
    reg [63-BYTE_BITS:0] beat;
    reg [COUNT_BITS-1:0] beats_left;
    // Beats of the queue that were not asked for, and those that have not come.
    reg [DEPTH_BITS:0] free;
    reg [DEPTH_BITS:0] pending;
    localparam [COUNT_BITS-33:0] ZERO = {(COUNT_BITS - 32){1'b0}};
    wire [COUNT_BITS-1:0] quads = {ZERO, count} * {ZERO, LANE_QUADS[31:0]};
    wire [COUNT_BITS-1:0] beat_count = (quads + {ZERO, BEAT_QUADS[31:0]} - 1'b1) >> $clog2(BEAT_QUADS);

    // The next burst.
    localparam [BURST_BITS:0] BURST = 1 << BURST_BITS;
    wire [BURST_BITS:0] to_boundary = BURST - {1'b0, beat[BURST_BITS-1:0]};
    wire is_last = beats_left < {{(COUNT_BITS - BURST_BITS - 1){1'b0}}, to_boundary};
    wire [BURST_BITS:0] length = is_last ? beats_left[BURST_BITS:0] : to_boundary;
    wire [DEPTH_BITS:0] wide_length = {{(DEPTH_BITS - BURST_BITS){1'b0}}, length};
    wire asks = running & !arvalid & beats_left != {COUNT_BITS{1'b0}} & free >= wide_length;
    wire [BURST_BITS:0] length_field = length - 1'b1;
    assign busy = arvalid | pending != {(DEPTH_BITS + 1){1'b0}};

    wire has_beat, pop;
    wire [DATA_BITS-1:0] next_beat;
    /* verilator lint_off PINCONNECTEMPTY */
    ovl_fifo #(.WIDTH(DATA_BITS), .DEPTH_BITS(DEPTH_BITS)) beats (
        .clk(clk), .reset(reset | go), .push(rvalid), .in(rdata), .full(), .pop(pop), .out(next_beat), .valid(has_beat)
    );
    /* verilator lint_on PINCONNECTEMPTY */

    // From beats to lanes.
    wire [HELD_BITS-1:0] lane_held = LANE_QUADS[HELD_BITS-1:0];
    wire [HELD_BITS-1:0] beat_held = BEAT_QUADS[HELD_BITS-1:0];
    reg [BUFFER_BITS-1:0] buffer;
    reg [HELD_BITS-1:0] held;
    reg [31:0] lanes_left;
    assign ended = lanes_left == 32'd0;
    assign lane = buffer[LANE_BITS-1:0];
    assign lane_valid = held >= lane_held && !ended;
    wire take = lane_valid & lane_ready;
    wire [HELD_BITS-1:0] kept = take ? held - lane_held : held;
    assign pop = has_beat && kept <= lane_held;
    wire [BUFFER_BITS-1:0] rest = take ? buffer >> LANE_BITS : buffer;
    wire [BUFFER_BITS-1:0] added = {{LANE_BITS{1'b0}}, next_beat} << {kept, 6'd0};

    always @(posedge clk) begin
        if (reset) begin
            running <= 1'b0;
            arvalid <= 1'b0;
            pending <= {(DEPTH_BITS + 1){1'b0}};
            failed <= 1'b0;
            lanes_left <= 32'd0;
            held <= {HELD_BITS{1'b0}};
        end else if (go) begin
            running <= 1'b1;
            beat <= base[63:BYTE_BITS];
            beats_left <= beat_count;
            free <= {1'b1, {DEPTH_BITS{1'b0}}};
            failed <= 1'b0;
            lanes_left <= count;
            held <= {HELD_BITS{1'b0}};
            buffer <= {BUFFER_BITS{1'b0}};
        end else begin
            if (stop) running <= 1'b0;
            if (arready) arvalid <= 1'b0;
            if (asks) begin
                arvalid <= 1'b1;
                araddr <= {beat, {BYTE_BITS{1'b0}}};
                arlen <= {{(7 - BURST_BITS){1'b0}}, length_field};
                beat <= beat + {{(63 - BYTE_BITS - BURST_BITS){1'b0}}, length};
                beats_left <= beats_left - {{(COUNT_BITS - BURST_BITS - 1){1'b0}}, length};
            end
            free <= free - (asks ? wide_length : {(DEPTH_BITS + 1){1'b0}}) + {{DEPTH_BITS{1'b0}}, pop};
            pending <= pending + (asks ? wide_length : {(DEPTH_BITS + 1){1'b0}}) - {{DEPTH_BITS{1'b0}}, rvalid};
            if (rvalid & rresp[1]) failed <= 1'b1;
            if (take) lanes_left <= lanes_left - 32'd1;
            held <= kept + (pop ? beat_held : {HELD_BITS{1'b0}});
            buffer <= rest | (pop ? added : {BUFFER_BITS{1'b0}});
        end
    end
endmodule

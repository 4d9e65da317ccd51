// SIFO: workload dispatcher and data controller, block RAM, ports of two DDR memories, and the cells.
//
// Fang, Ioannidis, Leeser, "SIFO", Figures 4 and 5. The host writes a command (count and kind of a batch) and, before or
// after it, the addresses of each gate. Gates are read in order, then written in order. The lowest bit of an address says
// whether it is in block RAM. ANDs are counted, and the count is hashed. For comparison only.
module sifo_top (
    input  wire                                  clk,
    input  wire                                  reset,
    // Registers of the host.
    input  wire                                  host_write,
    input  wire [4:0]                            host_cell,
    input  wire [1:0]                            host_register,
    input  wire [31:0]                           host_data,
    // No batch is under way.
    output wire                                  idle,
    // Rows of one AND; the host takes them at once.
    output wire                                  row_valid,
    output wire [sifo_pkg::ROW_BITS-1:0]         row_data,
    // DDR. A request is one cycle; completion comes later, with the data.
    output wire [1:0]                            ddr_read,
    output wire [sifo_pkg::DDR_ADDRESS_BITS-1:0] ddr_read_address0,
    output wire [sifo_pkg::DDR_ADDRESS_BITS-1:0] ddr_read_address1,
    input  wire [1:0]                            ddr_read_complete,
    input  wire [sifo_pkg::DDR_BITS-1:0]         ddr_read_data0,
    input  wire [sifo_pkg::DDR_BITS-1:0]         ddr_read_data1,
    output wire                                  ddr_write,
    output wire [sifo_pkg::DDR_ADDRESS_BITS-1:0] ddr_write_address,
    output wire [3:0]                            ddr_write_lanes,
    output wire [sifo_pkg::DDR_BITS-1:0]         ddr_write_data,
    input  wire                                  ddr_write_complete
);
    localparam CELLS = sifo_pkg::CELLS;
    localparam ADDRESS_BITS = sifo_pkg::ADDRESS_BITS;
    localparam RAM_BITS = sifo_pkg::RAM_BITS;

    localparam [2:0] IDLE = 3'd0, READ = 3'd1, READ_WAIT = 3'd2, WRITE = 3'd3, WRITE_WAIT = 3'd4;
    reg [2:0] state;
    assign idle = state == IDLE;

    // Registers. A gate is there when the last of its registers is written.
    reg [31:0] first [0:CELLS-1];
    reg [30:0] second [0:CELLS-1];
    reg [ADDRESS_BITS-1:0] third [0:CELLS-1];
    reg [CELLS-1:0] is_written;
    reg [79:0] offset;
    reg [3:0] count;
    reg is_and, is_packed;
    wire is_control = host_cell == sifo_pkg::CONTROL;
    wire takes_command = host_write & is_control & host_register == 2'd3;
    wire takes_gate = host_write & !is_control;
    always @(posedge clk) begin
        if (host_write & is_control) begin
            case (host_register)
                2'd0: offset[31:0] <= host_data;
                2'd1: offset[63:32] <= host_data;
                2'd2: begin
                    offset[79:64] <= host_data[15:0];
                    is_packed <= host_data[sifo_pkg::PACKED_AT];
                end
                default: begin
                    count <= host_data[3:0];
                    is_and <= host_data[sifo_pkg::COMMAND_KIND_AT];
                end
            endcase
        end
        if (takes_gate) begin
            case (host_register)
                2'd0: first[host_cell[3:0]] <= host_data;
                2'd1: second[host_cell[3:0]] <= host_data[30:0];
                default: third[host_cell[3:0]] <= host_data[ADDRESS_BITS-1:0];
            endcase
        end
    end

    // The gate at work.
    reg [3:0] index;
    wire is_last = index + 4'd1 == count;
    wire [62:0] packed_gate = {second[index], first[index]};
    wire [ADDRESS_BITS-1:0] a = packed_gate[ADDRESS_BITS-1:0];
    wire [ADDRESS_BITS-1:0] b = packed_gate[(is_packed ? ADDRESS_BITS : 32) +: ADDRESS_BITS];
    wire [ADDRESS_BITS-1:0] out = is_packed ? packed_gate[2 * ADDRESS_BITS +: ADDRESS_BITS] : third[index];

    // Reads: the block RAM has one port, so its second operand comes a cycle later; each operand has a DDR port.
    reg waits_a, waits_b;
    reg ram_gives_a, ram_gives_b;
    reg [79:0] held_a, held_b;
    wire [79:0] ram_label;
    wire issues_read = state == READ & is_written[index];
    wire ram_reads_a = issues_read & a[0];
    wire ram_reads_b = b[0] & (issues_read & !a[0] | state == READ_WAIT & ram_gives_a);
    assign ddr_read = {issues_read & !b[0], issues_read & !a[0]};
    assign ddr_read_address0 = a[ADDRESS_BITS-1:3];
    assign ddr_read_address1 = b[ADDRESS_BITS-1:3];
    wire a_comes = ram_gives_a | ddr_read_complete[0];
    wire b_comes = ram_gives_b | ddr_read_complete[1];
    wire has_both = state == READ_WAIT & (!waits_a | a_comes) & (!waits_b | b_comes);
    wire [79:0] new_a = a[0] ? ram_label : ddr_read_data0[{a[2:1], 7'b0} +: 80];
    wire [79:0] new_b = b[0] ? ram_label : ddr_read_data1[{b[2:1], 7'b0} +: 80];
    wire [79:0] label_a = waits_a ? new_a : held_a;
    wire [79:0] label_b = waits_b ? new_b : held_b;

    // Cells.
    reg [63:0] and_count;
    wire [CELLS-1:0] selected = {{(CELLS - 1){1'b0}}, 1'b1} << index;
    wire [CELLS-1:0] and_done;
    wire [79:0] and_results [0:CELLS-1];
    wire [239:0] and_rows [0:CELLS-1];
    wire [79:0] xor_results [0:CELLS-1];
    genvar i;
    generate
        for (i = 0; i < CELLS; i = i + 1) begin : cells
            sifo_and_cell and_cell (
                .clk(clk), .reset(reset), .offset(offset), .start(has_both & is_and & selected[i]), .number(and_count),
                .a(label_a), .b(label_b), .done(and_done[i]), .result(and_results[i]), .rows(and_rows[i])
            );
            sifo_xor_cell xor_cell (
                .clk(clk), .start(has_both & !is_and & selected[i]), .a(label_a), .b(label_b), .result(xor_results[i])
            );
        end
    endgenerate

    // Writes.
    wire [79:0] result = is_and ? and_results[index] : xor_results[index];
    wire issues_write = state == WRITE & (!is_and | and_done[index]);
    wire write_done = state == WRITE_WAIT & (out[0] | ddr_write_complete);
    assign row_valid = issues_write & is_and;
    assign row_data = and_rows[index];
    assign ddr_write = issues_write & !out[0];
    assign ddr_write_address = out[ADDRESS_BITS-1:3];
    assign ddr_write_lanes = 4'b1 << out[2:1];
    assign ddr_write_data = {4{48'h0, result}};

    sifo_ram #(.WORD_BITS(RAM_BITS)) ram (
        .clk(clk), .offset(offset), .read(ram_reads_a | ram_reads_b), .read_word(ram_reads_a ? a[RAM_BITS:1] : b[RAM_BITS:1]),
        .read_label(ram_label), .write(issues_write & out[0]), .write_word(out[RAM_BITS:1]), .write_label(result)
    );

    always @(posedge clk) begin
        if (reset) begin
            state <= IDLE;
            is_written <= {CELLS{1'b0}};
            and_count <= 64'd0;
            ram_gives_a <= 1'b0;
            ram_gives_b <= 1'b0;
        end else begin
            ram_gives_a <= ram_reads_a;
            ram_gives_b <= ram_reads_b;
            if (takes_gate & host_register == (is_packed ? 2'd1 : 2'd2)) is_written[host_cell[3:0]] <= 1'b1;
            case (state)
                IDLE: if (takes_command) begin
                    state <= READ;
                    index <= 4'd0;
                end
                READ: if (is_written[index]) begin
                    state <= READ_WAIT;
                    waits_a <= 1'b1;
                    waits_b <= 1'b1;
                end
                READ_WAIT: begin
                    if (a_comes) waits_a <= 1'b0;
                    if (b_comes) waits_b <= 1'b0;
                    if (has_both) begin
                        state <= is_last ? WRITE : READ;
                        index <= is_last ? 4'd0 : index + 4'd1;
                        if (is_and) and_count <= and_count + 64'd1;
                    end
                end
                WRITE: if (issues_write) state <= WRITE_WAIT;
                WRITE_WAIT: if (write_done) begin
                    is_written[index] <= 1'b0;
                    state <= is_last ? IDLE : WRITE;
                    index <= index + 4'd1;
                end
                default: state <= IDLE;
            endcase
        end
        if (a_comes & waits_a) held_a <= new_a;
        if (b_comes & waits_b) held_b <= new_b;
    end
endmodule

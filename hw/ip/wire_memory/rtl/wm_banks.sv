// The wire memory: banks with two copies, read by many ports at addresses that never collide.
//
// The host chose the addresses, so there is no arbitration. Port p reads copy COPIES[p] of a bank; in one cycle all
// ports on one copy of a bank read the same row, and at most one writer writes a bank. Simulation checks both.
// An address has its bank in the low bits. Unused ports read 0. Latency of a read: 1 cycle.
module wm_banks #(
    parameter BANK_BITS = 4,
    parameter ROW_BITS = 12,
    parameter READS = 12,
    parameter WRITES = 5,
    parameter [READS-1:0] COPIES = 12'b0101_1010_1010
) (
    input  wire                                     clk,
    input  wire                                     advance,
    input  wire [READS-1:0]                         read_valid,
    input  wire [READS*(BANK_BITS+ROW_BITS)-1:0]    read_address,
    output wire [READS*128-1:0]                     read_label,
    input  wire [WRITES-1:0]                        write_valid,
    input  wire [WRITES*(BANK_BITS+ROW_BITS)-1:0]   write_address,
    input  wire [WRITES*128-1:0]                    write_label,
    // Two ports collide in this cycle. Only simulation looks for it: no valid stream does it.
    output wire                                     collision
);
    localparam BANKS = 1 << BANK_BITS;
    localparam ADDRESS_BITS = BANK_BITS + ROW_BITS;

    // Labels that the banks read, one vector for each copy.
    wire [BANKS*128-1:0] labels0;
    wire [BANKS*128-1:0] labels1;

    genvar b, p;
    generate
        for (b = 0; b < BANKS; b = b + 1) begin : bank
            reg [ROW_BITS-1:0] row0;
            reg [ROW_BITS-1:0] row1;
            reg                write_enable;
            reg [ROW_BITS-1:0] write_row;
            reg [127:0]        label;
            integer            i;
            always @* begin
                row0 = {ROW_BITS{1'b0}};
                row1 = {ROW_BITS{1'b0}};
                for (i = 0; i < READS; i = i + 1) begin
                    if (read_valid[i] && read_address[i * ADDRESS_BITS +: BANK_BITS] == b[BANK_BITS-1:0]) begin
                        if (COPIES[i]) row1 = row1 | read_address[i * ADDRESS_BITS + BANK_BITS +: ROW_BITS];
                        else row0 = row0 | read_address[i * ADDRESS_BITS + BANK_BITS +: ROW_BITS];
                    end
                end
                write_enable = 1'b0;
                write_row = {ROW_BITS{1'b0}};
                label = 128'h0;
                for (i = 0; i < WRITES; i = i + 1) begin
                    if (write_valid[i] && write_address[i * ADDRESS_BITS +: BANK_BITS] == b[BANK_BITS-1:0]) begin
                        write_enable = 1'b1;
                        write_row = write_row | write_address[i * ADDRESS_BITS + BANK_BITS +: ROW_BITS];
                        label = label | write_label[i * 128 +: 128];
                    end
                end
            end
            wm_bank #(.ROW_BITS(ROW_BITS)) copy0 (
                .clk(clk), .read_enable(advance), .read_row(row0), .read_label(labels0[b * 128 +: 128]),
                .write_enable(write_enable & advance), .write_row(write_row), .write_label(label)
            );
            wm_bank #(.ROW_BITS(ROW_BITS)) copy1 (
                .clk(clk), .read_enable(advance), .read_row(row1), .read_label(labels1[b * 128 +: 128]),
                .write_enable(write_enable & advance), .write_row(write_row), .write_label(label)
            );
        end
        for (p = 0; p < READS; p = p + 1) begin : port
            reg                 was_valid;
            reg [BANK_BITS-1:0] from;
            always @(posedge clk) begin
                if (advance) begin
                    was_valid <= read_valid[p];
                    from <= read_address[p * ADDRESS_BITS +: BANK_BITS];
                end
            end
            wire [127:0] label = COPIES[p] ? labels1[{from, 7'b0} +: 128] : labels0[{from, 7'b0} +: 128];
            assign read_label[p * 128 +: 128] = was_valid ? label : 128'h0;
        end
    endgenerate

`ifdef OVL_ASSERT
    reg hit;
    integer x, y;
    always @* begin
        hit = 1'b0;
        for (x = 0; x < READS; x = x + 1) begin
            for (y = 0; y < x; y = y + 1) begin
                if (read_valid[x] && read_valid[y] && COPIES[x] == COPIES[y]
                    && read_address[x * ADDRESS_BITS +: BANK_BITS] == read_address[y * ADDRESS_BITS +: BANK_BITS]
                    && read_address[x * ADDRESS_BITS +: ADDRESS_BITS]
                        != read_address[y * ADDRESS_BITS +: ADDRESS_BITS]) hit = 1'b1;
            end
        end
        for (x = 0; x < WRITES; x = x + 1) begin
            for (y = 0; y < x; y = y + 1) begin
                if (write_valid[x] && write_valid[y]
                    && write_address[x * ADDRESS_BITS +: BANK_BITS]
                        == write_address[y * ADDRESS_BITS +: BANK_BITS]) hit = 1'b1;
            end
        end
    end
    assign collision = hit & advance;
`else
    assign collision = 1'b0;
`endif
endmodule

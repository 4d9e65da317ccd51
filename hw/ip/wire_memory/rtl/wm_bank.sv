// One copy of one bank: a write and a read in each cycle. A read of the row that is being written gives the old label.
module wm_bank #(
    parameter ROW_BITS = 12
) (
    input  wire                clk,
    input  wire                read_enable,
    input  wire [ROW_BITS-1:0] read_row,
    output reg  [127:0]        read_label,
    input  wire                write_enable,
    input  wire [ROW_BITS-1:0] write_row,
    input  wire [127:0]        write_label
);
    reg [127:0] memory [0:(1 << ROW_BITS) - 1];
    always @(posedge clk) begin
        if (write_enable) memory[write_row] <= write_label;
        if (read_enable) read_label <= memory[read_row];
    end
endmodule

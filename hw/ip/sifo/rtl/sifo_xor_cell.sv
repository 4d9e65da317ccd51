// gXOR: stores two labels; their XOR is there in the next cycle.
module sifo_xor_cell (
    input  wire        clk,
    input  wire        start,
    input  wire [79:0] a,
    input  wire [79:0] b,
    output wire [79:0] result
);
    reg [79:0] stored_a, stored_b;
    always @(posedge clk) if (start) {stored_a, stored_b} <= {a, b};
    assign result = stored_a ^ stored_b;
endmodule

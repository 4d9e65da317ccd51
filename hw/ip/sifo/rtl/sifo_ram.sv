// Labels in block RAM: one read port and one write port. Word 0 reads as 0.
module sifo_ram #(
    parameter WORD_BITS = 17
) (
    input  wire                 clk,
    input  wire                 read,
    input  wire [WORD_BITS-1:0] read_word,
    output wire [79:0]          read_label,
    input  wire                 write,
    input  wire [WORD_BITS-1:0] write_word,
    input  wire [79:0]          write_label
);
    reg [79:0] memory [0:(1 << WORD_BITS) - 1];
    reg [79:0] label;
    reg is_zero;
    always @(posedge clk) begin
        if (write) memory[write_word] <= write_label;
        if (read) label <= memory[read_word];
        if (read) is_zero <= read_word == {WORD_BITS{1'b0}};
    end
    assign read_label = is_zero ? 80'h0 : label;
endmodule

// Labels in block RAM: one read port and one write port. Words 0 and 1 are the labels of the constants:
// 0 and the offset.
module sifo_ram #(
    parameter WORD_BITS = 17
) (
    input  wire                 clk,
    input  wire [79:0]          offset,
    input  wire                 read,
    input  wire [WORD_BITS-1:0] read_word,
    output wire [79:0]          read_label,
    input  wire                 write,
    input  wire [WORD_BITS-1:0] write_word,
    input  wire [79:0]          write_label
);
    reg [79:0] memory [0:(1 << WORD_BITS) - 1];
    reg [79:0] label;
    reg is_constant, is_one;
    always @(posedge clk) begin
        if (write) memory[write_word] <= write_label;
        if (read) label <= memory[read_word];
        if (read) begin
            is_constant <= read_word[WORD_BITS-1:1] == {(WORD_BITS - 1){1'b0}};
            is_one <= read_word[0];
        end
    end
    assign read_label = !is_constant ? label : is_one ? offset : 80'h0;
endmodule

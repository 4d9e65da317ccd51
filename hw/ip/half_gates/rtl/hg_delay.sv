// A word that appears DEPTH cycles later.
module hg_delay #(
    parameter WIDTH = 128,
    parameter DEPTH = 11
) (
    input  wire             clk,
    input  wire             advance,
    input  wire [WIDTH-1:0] in,
    output wire [WIDTH-1:0] out
);
    reg [WIDTH*DEPTH-1:0] line;
    always @(posedge clk) if (advance) line <= {line[WIDTH*(DEPTH-1)-1:0], in};
    assign out = line[WIDTH*(DEPTH-1) +: WIDTH];
endmodule

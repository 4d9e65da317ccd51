// CRC-32 (IEEE 802.3, reflected) of one more word, lowest byte first.
module ovl_crc #(
    parameter WIDTH = 384
) (
    input  wire [31:0]      crc,
    input  wire [WIDTH-1:0] data,
    output reg  [31:0]      next
);
    integer i;
    always @* begin
        next = crc;
        for (i = 0; i < WIDTH; i = i + 1) begin
            next = {1'b0, next[31:1]} ^ ((next[0] ^ data[i]) ? 32'hedb8_8320 : 32'h0);
        end
    end
endmodule

// aes_pair against FIPS 197, appendices B and C.1: two keys in two successive cycles, and a pause between.
module aes_pair_tb;
    reg clk = 0;
    reg advance = 1;
    reg [127:0] key, block0, block1;
    wire [127:0] cipher0, cipher1;
    integer cycle;
    integer faults = 0;

    aes_pair pair (
        .clk(clk), .advance(advance), .key(key), .block0(block0), .block1(block1),
        .cipher0(cipher0), .cipher1(cipher1)
    );

    // FIPS 197 writes byte 0 first.
    function automatic [127:0] bytes(input [127:0] x);
        integer i;
        for (i = 0; i < 16; i = i + 1) bytes[8 * i +: 8] = x[8 * (15 - i) +: 8];
    endfunction

    localparam [127:0] CIPHER_B = 128'h3925841d02dc09fbdc118597196a0b32;
    localparam [127:0] CIPHER_C = 128'h69c4e0d86a7b0430d8cdb78070b4c55a;

    task check(input [127:0] found, input [127:0] wanted);
        if (found !== bytes(wanted)) begin
            $display("cycle %0d: found %h, wanted %h", cycle, bytes(found), wanted);
            faults = faults + 1;
        end
    endtask

    task tick;
        begin
            #1 clk = 1;
            #1 clk = 0;
        end
    endtask

    initial begin
        for (cycle = 0; cycle < 12; cycle = cycle + 1) begin
            if (cycle == 0) begin
                key = bytes(128'h2b7e151628aed2a6abf7158809cf4f3c);
                block0 = bytes(128'h3243f6a8885a308d313198a2e0370734);
                block1 = block0;
            end else begin
                key = bytes(128'h000102030405060708090a0b0c0d0e0f);
                block0 = bytes(128'h00112233445566778899aabbccddeeff);
                block1 = block0;
            end
            if (cycle == 5) begin
                // Nothing moves while advance is low.
                advance = 0;
                tick;
                tick;
                advance = 1;
            end
            tick;
            if (cycle == 10) begin
                check(cipher0, CIPHER_B);
                check(cipher1, CIPHER_B);
            end
            if (cycle == 11) begin
                check(cipher0, CIPHER_C);
                check(cipher1, CIPHER_C);
            end
        end
        if (faults == 0) $display("passed: aes_pair");
        $finish;
    end
endmodule

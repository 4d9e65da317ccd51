// sifo_sha1 against sha1sum (GNU coreutils) of the 28 letters of "abcdefghijklmnopqrstuvwxyz01", twice, and its latency.
module sifo_sha1_tb;
    reg clk = 0;
    reg reset = 1;
    reg start = 0;
    wire done;
    wire [79:0] digest;
    integer cycle, i, round;
    integer faults = 0;

    // Byte 0 is leftmost here.
    localparam [223:0] MESSAGE = "abcdefghijklmnopqrstuvwxyz01";
    localparam [79:0] DIGEST = 80'hcee916fb7b45ac3f1eb0;
    reg [223:0] message;
    reg [79:0] found;

    sifo_sha1 core (.clk(clk), .reset(reset), .start(start), .message(message), .done(done), .digest(digest));

    task step;
        begin
            #1 clk = 1;
            #1 clk = 0;
        end
    endtask

    initial begin
        for (i = 0; i < 28; i = i + 1) message[8 * i +: 8] = MESSAGE[8 * (27 - i) +: 8];
        step;
        reset = 0;
        for (round = 0; round < 2; round = round + 1) begin
            start = 1;
            step;
            start = 0;
            cycle = 1;
            #1;
            while (!done && cycle < 200) begin
                step;
                cycle = cycle + 1;
            end
            for (i = 0; i < 10; i = i + 1) found[8 * i +: 8] = digest[8 * (9 - i) +: 8];
            if (found !== DIGEST || cycle != 82) begin
                $display("found %h after %0d cycles, wanted %h after 82", found, cycle, DIGEST);
                faults = faults + 1;
            end
        end
        if (faults == 0) $display("passed: SHA-1 of 28 bytes in 82 cycles");
        $finish;
    end
endmodule

ip/sifo/rtl/sifo_pkg.sv
ip/sifo/rtl/sifo_sha1.sv
ip/sifo/rtl/sifo_and_cell.sv
ip/sifo/rtl/sifo_xor_cell.sv
ip/sifo/rtl/sifo_ram.sv
ip/sifo/rtl/sifo_top.sv

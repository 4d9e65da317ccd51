"""Reads what `objdump -d -M intel` prints: functions, instructions, operands."""

import pathlib
import re
import struct
import subprocess

GENERAL = {}
for _name in "ax bx cx dx".split():
    for _text, _size in (("r" + _name, 8), ("e" + _name, 4), (_name, 2), (_name[0] + "l", 1), (_name[0] + "h", 1)):
        GENERAL[_text] = ("r" + _name, _size)
for _name in "si di bp sp".split():
    for _text, _size in (("r" + _name, 8), ("e" + _name, 4), (_name, 2), (_name + "l", 1)):
        GENERAL[_text] = ("r" + _name, _size)
for _number in range(8, 16):
    for _suffix, _size in (("", 8), ("d", 4), ("w", 2), ("b", 1)):
        GENERAL[f"r{_number}{_suffix}"] = (f"r{_number}", _size)

SIZES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "FWORD": 6, "QWORD": 8, "TBYTE": 10, "OWORD": 16,
         "XMMWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}
PREFIXES = {"rep", "repz", "repnz", "lock", "bnd", "notrack", "data16", "cs", "ds", "es", "ss", "rex.W", "addr32"}
ENDS = ("ret", "ud2", "int3", "hlt")
# Displacement of the `nop` by which a kernel states that a register is public (`phineus_crypto::public`).
PUBLIC_MARK = 0x5075626C


class Operand:
    """A register (`general` or `vector`), `memory` or a `constant`."""

    __slots__ = ("kind", "register", "size", "base", "index", "scale", "offset", "mask", "zeroing", "value", "segment")

    def __init__(self, text):
        self.mask = self.register = self.segment = self.base = self.index = self.value = None
        self.scale, self.offset, self.size = 1, 0, 0
        mask = re.search(r"\{(k[1-7])\}", text)
        if mask:
            self.mask = mask.group(1)
        self.zeroing = "{z}" in text
        text = re.sub(r"\{[^}]*\}", "", text).strip()
        if "[" in text:
            self._memory(text)
        elif text in GENERAL:
            self.kind = "general"
            self.register, self.size = GENERAL[text]
        elif re.fullmatch(r"[xyz]mm\d+", text):
            self.kind, self.register = "vector", "v" + text[3:]
            self.size = {"x": 16, "y": 32, "z": 64}[text[0]]
        elif re.fullmatch(r"k[0-7]", text):
            self.kind, self.register, self.size = "vector", text, 8
        elif re.fullmatch(r"(\w+ PTR )?\w\w:0x[0-9a-f]+", text):
            self.kind, self.segment, self.size = "memory", re.search(r"(\w\w):", text).group(1), 8
        elif re.fullmatch(r"-?(0x)?[0-9a-f]+", text):
            self.kind, self.value = "constant", signed(int(text, 16))
        else:
            raise ValueError(f"unknown operand: {text}")

    def _memory(self, text):
        parts = re.fullmatch(r"(?:(\w+) (?:PTR|BCST) )?(?:(\w\w):)?\[(.*)\]", text)
        if not parts:
            raise ValueError(f"unknown operand: {text}")
        self.kind, self.size, self.segment = "memory", SIZES.get(parts.group(1), 8), parts.group(2)
        for sign, term in re.findall(r"([+-]?)([^+-]+)", parts.group(3)):
            if "*" in term:
                self.index, scale = term.split("*")
                self.scale = int(scale)
            elif re.fullmatch(r"0x[0-9a-f]+|\d+", term):
                number = signed(int(term, 0))
                self.offset += -number if sign == "-" else number
            elif self.base is None:
                self.base = term
            else:
                self.index = term
        if self.index in ("riz", "eiz"):
            self.index = None


def signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


class Instruction:
    """One line of the disassembly; `target` of a direct jump or call, `absolute` of a rip-relative operand."""

    __slots__ = ("address", "name", "operands", "text", "target", "absolute", "public")

    def __init__(self, line):
        fields = line.rstrip("\n").split("\t")
        self.address, self.text = int(fields[0].strip().rstrip(":"), 16), fields[1].strip()
        self.target = self.absolute = self.public = None
        self.operands = []
        body, _, comment = self.text.partition("#")
        if comment:
            self.absolute = int(comment.split()[0], 16)
        words, prefixes = body.strip().split(None, 1), []
        while words[0] in PREFIXES and len(words) > 1:
            prefixes.append(words[0])
            words = words[1].split(None, 1)
        self.name = words[0]
        if self.name in ("nop", "nopw", "nopl") or body.split() == ["xchg", "ax,ax"]:
            self.name = "nop"
            mark = re.search(r"\[(\w+)\+0x([0-9a-f]+)\]", self.text)
            if mark and int(mark.group(2), 16) == PUBLIC_MARK:
                self.public = mark.group(1)
            return
        if any(prefix.startswith("rep") for prefix in prefixes) and self.name not in ENDS:
            self.name = "rep " + self.name
        rest = words[1].strip() if len(words) > 1 else ""
        target = re.match(r"([0-9a-f]+) <", rest)
        if target and (self.name[0] == "j" or self.name == "call"):
            self.target = int(target.group(1), 16)
        elif self.name not in ENDS and rest:
            self.operands = [Operand(text) for text in re.split(r",(?![^\[{]*[\]}])", rest)]


class Program:
    """The functions of an executable, and what its calls through the global offset table mean."""

    def __init__(self, path):
        self.lines, self.names = {}, {}
        header = re.compile(r"^([0-9a-f]+) <(.*)>:$")
        current = None
        command = ["objdump", "-d", "--no-show-raw-insn", "-M", "intel", path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as objdump:
            for line in objdump.stdout:
                start = header.match(line)
                if start:
                    address = int(start.group(1), 16)
                    current = self.lines.setdefault(address, [])
                    self.names[address] = start.group(2)
                elif "\t" in line and current is not None:
                    current.append(line)
        if objdump.returncode != 0:
            raise SystemExit(f"objdump cannot read {path}")
        self.never_return = {address for address in self.lines if self._never_returns(address)}
        self.slots = {}
        self._relocations(path)
        self.image = pathlib.Path(path).read_bytes()
        (at,), (size, count) = struct.unpack_from("<Q", self.image, 32), struct.unpack_from("<HH", self.image, 54)
        # Of each part that is loaded: place in the file, address, length.
        headers = [struct.unpack_from("<IIQQQQ", self.image, at + number * size) for number in range(count)]
        self.loaded = [(header[2], header[3], header[5]) for header in headers if header[0] == 1]

    def _never_returns(self, address):
        """Whether a function neither returns nor goes on in another one: it reports a bug."""
        inside = f"<{self.names[address]}+"
        for line in self.lines[address]:
            text = line.split("\t", 1)[1]
            if text.startswith("ret") or (text.startswith(("jmp", "notrack jmp", "bnd jmp")) and inside not in text):
                return False
        return True

    def _relocations(self, path):
        table = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True, check=True).stdout
        for fields in map(str.split, table.splitlines()):
            if len(fields) >= 4 and "RELATIVE" in fields[2]:
                self.slots[int(fields[0], 16)] = int(fields[3], 16)
            elif len(fields) >= 5 and ("GLOB_DAT" in fields[2] or "JUMP_SLO" in fields[2]):
                symbol = fields[4].split("@")[0]
                self.slots[int(fields[0], 16)] = symbol
                self.names[symbol] = symbol
        self.never_return |= {"_Unwind_Resume", "abort", "__stack_chk_fail"}

    def instructions(self, address):
        return [Instruction(line) for line in self.lines[address]]

    def jump_table(self, address, targets):
        """The targets that a table of distances from itself lists, up to the first that is none of `targets`."""
        found = []
        for place, start, length in self.loaded:
            while start <= address + 4 * len(found) < start + length - 3:
                distance, = struct.unpack_from("<i", self.image, place + address - start + 4 * len(found))
                if address + distance not in targets:
                    break
                found.append(address + distance)
        return found

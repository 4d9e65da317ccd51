"""What the jumps and addresses of one function depend on.

A data-flow analysis over its instructions. Each register, flag and stack slot has the set of *sources*
that it derives from: the arguments (registers, and the stack of the caller), and each place of memory
that is read. All sources are secret but

* those that the function states to be public, by the mark of `phineus_crypto::public`;
* 64-bit words that serve, unchanged but for offsets, as the base of an address: pointers. A program
  without unsafe casts makes no pointer of a secret, and secrets are no addresses by chance.

Reported is what depends on a secret source: conditional and indirect jumps, addresses, lengths of
copies, masks of masked accesses to memory, divisions.

Assumed: a stack slot that the function reads and writes only as a whole, at fixed offsets, from and to
registers, is a spilled register, and stores through pointers do not change it; every other slot may be
changed by any store whose place is unknown, and by any call (with `arrays_are_kept_within`, not: what is
stored in an array of the stack by an index is then taken to be read by an index). What a caller or a callee left over in a
register has no meaning: where a byte is written, the bytes above it do not depend on that. Constants of
the executable are public.
"""

import collections
import heapq
import re

from x86 import ENDS, GENERAL

ARGUMENTS = "rdi rsi rdx rcx r8 r9".split()
SAVED = "rbx rbp r12 r13 r14 r15".split()
VOLATILE = "rax rcx rdx rsi rdi r8 r9 r10 r11".split()
VECTORS = [f"v{number}" for number in range(32)] + [f"k{number}" for number in range(8)]
CARRY, REST = "carry", "rest"  # The flags: the carry, and all others.
FLAGS_KEPT = {"mov", "movzx", "movsx", "movsxd", "movabs", "lea", "not", "bswap", "rorx", "shlx", "shrx",
              "sarx", "pext", "pdep", "movbe", "crc32"}
# The first operand is written and not read.
OVERWRITES = FLAGS_KEPT - {"not", "bswap", "crc32"} | {
    "tzcnt", "lzcnt", "popcnt", "andn", "blsr", "blsi", "blsmsk", "bzhi", "bextr"}
COPIES = re.compile(r"v?mov(dq[au](8|16|32|64)?|[au]p[sd]|ntdq|ntp[sd]|q|d)|v?lddqu")
SETS_FLAGS = re.compile(r"v?ptest|vtestp[sd]|k(or)?test[bwdq]|v?u?comis[sd]")
READS_TARGET = re.compile(r"ternlog|permi2|permt2|fn?m(add|sub)|madd52|pdp|gather|expand|compress")
LEGACY_WRITES = re.compile(
    r"pshuf[dlh]|pabs|p?movmsk|pmov[sz]x|sqrt|r(c|sqrt)p|aesimc|aeskeygen|pextr|extractps|cvt|mov(d|sl|sh)dup")
SAME_IS_CONSTANT = re.compile(r"v?p?xor[dq]?|v?xorp[sd]|v?psub[bwdq]|v?pcmpeq[bwdq]|kx(n)?or[bwdq]|v?pcmpgt[bwdq]")


class Value:
    """The sources that a value derives from (`deps`, a set of bits), of its lowest byte (`low`) if these
    are fewer, of each 8 bytes (`lanes`) of a vector that was copied; and the source (`origin`) that it is,
    plus a constant (`offset`) or any public number (None)."""

    __slots__ = ("deps", "origin", "offset", "low", "lanes")

    def __init__(self, deps=0, origin=None, offset=None, low=None, lanes=None):
        self.deps, self.origin, self.offset, self.low, self.lanes = deps, origin, offset, low, lanes

    def same(self, other):
        return self is other or (
            self.deps == other.deps and self.origin == other.origin and self.offset == other.offset
            and self.low == other.low and (self.lanes is other.lanes or bool(
                self.lanes and other.lanes and len(self.lanes) == len(other.lanes)
                and all(a.same(b) for a, b in zip(self.lanes, other.lanes)))))

    def join(self, other):
        if self.same(other):
            return self
        origin = self.origin if self.origin == other.origin else None
        offset = self.offset if origin is not None and self.offset == other.offset else None
        low = lanes = None
        if self.low is not None or other.low is not None:
            low = (self.deps if self.low is None else self.low) | (other.deps if other.low is None else other.low)
        if self.lanes and other.lanes and len(self.lanes) == len(other.lanes):
            lanes = tuple(a.join(b) for a, b in zip(self.lanes, other.lanes))
        return Value(self.deps | other.deps, origin, offset, low, lanes)


CONSTANT = Value()


def of_lanes(lanes):
    deps = 0
    for lane in lanes:
        deps |= lane.deps
    return Value(deps, lanes=lanes)


def flags_of(condition):
    if condition in ("b", "ae", "c", "nc", "nae", "nb"):
        return (CARRY,)
    return (CARRY, REST) if condition in ("be", "a", "na", "nbe") else (REST,)


class State:
    """What registers, flags and stack slots hold; `anywhere` is what was stored at unknown places."""

    __slots__ = ("registers", "slots", "anywhere")

    def __init__(self, registers, slots, anywhere):
        self.registers, self.slots, self.anywhere = registers, slots, anywhere

    def copy(self):
        return State(dict(self.registers), dict(self.slots), self.anywhere)

    def absorb(self, other):
        """Joins another state into this one; whether this one changed."""
        changed = other.anywhere | self.anywhere != self.anywhere
        self.anywhere |= other.anywhere
        for mine, theirs in ((self.registers, other.registers), (self.slots, other.slots)):
            for place, value in theirs.items():
                known = mine.get(place)
                joined = value if known is None else known.join(value)
                if known is None or not joined.same(known):
                    mine[place], changed = joined, True
        return changed


class Function:
    """A function of a program. `findings` has what depends on secrets, after `analyse`."""

    def __init__(self, program, address, arrays_are_kept_within=False):
        self.program, self.name = program, program.names[address]
        self.arrays_are_kept_within = arrays_are_kept_within
        self.slots, self.neighbours = set(), {}
        self.code = program.instructions(address)
        self.index = {instruction.address: n for n, instruction in enumerate(self.code)}
        self.bits, self.public, self.left_over = {}, 0, 0
        self.accesses, self.spilled = collections.defaultdict(set), frozenset()
        self.needs, self.jumps, self.addressed, self.called = {}, set(), set(), set()
        self._blocks()

    # Control flow.

    def _blocks(self):
        starts, after, targets = {0}, set(), set()
        if any(instruction.name == "jmp" and instruction.target is None for instruction in self.code):
            for instruction in self.code:
                if instruction.name == "lea" and instruction.absolute is not None:
                    listed = self.program.jump_table(instruction.absolute, self.index)
                    targets.update(self.index[address] for address in listed)
            starts |= targets
        for n, instruction in enumerate(self.code):
            ends = instruction.name in ENDS or instruction.name == "jmp" or self._stops(instruction)
            if ends or instruction.name[0] == "j":
                starts.add(n + 1)
                if instruction.target in self.index:
                    starts.add(self.index[instruction.target])
            if ends:
                after.add(n + 1)
        starts = sorted(n for n in starts if n < len(self.code))
        self.ends = dict(zip(starts, starts[1:] + [len(self.code)]))
        # Where indirect jumps may lead: to what tables list that the function knows, or, if it knows none,
        # to all that is not reached by falling through.
        self.loose = sorted(targets or (n for n in after if n < len(self.code)))

    def _callee(self, instruction):
        if instruction.target is not None:
            return instruction.target
        return self.program.slots.get(instruction.absolute)

    def _stops(self, instruction):
        return instruction.name == "call" and self._callee(instruction) in self.program.never_return

    def _next(self, end):
        last = self.code[end - 1]
        if last.name in ENDS or self._stops(last):
            return []
        following = [end] if end < len(self.code) else []
        if last.name == "jmp":
            if last.target is None:
                return self.loose if last.absolute is None else []
            following = []
        if last.name[0] == "j" and last.target in self.index:
            following.append(self.index[last.target])
        return following

    # The analysis.

    def analyse(self):
        """Repeats until no more pointers are found: they make more sources public."""
        while True:
            before = (self.public, self.spilled)
            self.needs, self.accesses = {}, collections.defaultdict(set)
            self._flow()
            self._find_spilled()
            if before == (self.public, self.spilled):
                break
        self.findings = [
            (self.code[n], kind, self._names(deps & ~self.public))
            for (n, kind), deps in sorted(self.needs.items()) if deps & ~self.public]
        return self

    def _names(self, deps):
        return [name for name, bit in self.bits.items() if deps & bit]

    def _source(self, name):
        bit = self.bits.get(name)
        if bit is None:
            bit = self.bits[name] = 1 << len(self.bits)
        return bit

    def _value_of(self, name, size=8):
        deps = self._source(name)
        return Value(deps, name, 0) if size == 8 else Value(deps)

    def _entry(self):
        registers = {name: self._value_of(("argument", name)) for name in ARGUMENTS}
        for name in SAVED + ["rax", "r10", "r11"]:
            registers[name] = self._value_of(("register of the caller", name))
            self.left_over |= registers[name].deps
        for name in VECTORS:
            registers[name] = Value(self._source(("argument", "vector")))
        registers["rsp"] = Value(0, ("stack", 0), 0)
        registers[CARRY] = registers[REST] = CONSTANT
        return State(registers, {}, 0)

    def _flow(self):
        states, queue, queued = {0: self._entry()}, [0], {0}
        while queue:
            start = heapq.heappop(queue)
            queued.discard(start)
            state, end = states[start].copy(), self.ends[start]
            for n in range(start, end):
                self._step(n, self.code[n], state)
            for target in self._next(end):
                if target not in states:
                    states[target], changed = state.copy(), True
                else:
                    changed = states[target].absorb(state)
                if changed and target not in queued:
                    heapq.heappush(queue, target)
                    queued.add(target)

    def _find_spilled(self):
        """Slots that are nothing but spilled registers."""
        places = collections.defaultdict(list)
        for origin, offset, size in self.accesses:
            places[origin].append((offset, size))
        overlapping = set()
        for origin, all_of in places.items():
            all_of.sort()
            for n, (offset, size) in enumerate(all_of):
                for other, other_size in all_of[n + 1:]:
                    if other >= offset + size:
                        break
                    overlapping |= {(origin, offset, size), (origin, other, other_size)}
        self.spilled = frozenset(
            place for place, kinds in self.accesses.items() if kinds <= {"load", "store"} and place not in overlapping)

    def _need(self, n, kind, deps):
        if deps:
            self.needs[n, kind] = self.needs.get((n, kind), 0) | deps

    def _is_public(self, value):
        return not value.deps & ~self.public

    # Memory.

    def _dereference(self, n, value, kind="address"):
        """A base of an address: its origin is a pointer, what was added to it must be public."""
        if value.origin is not None and value.origin[0] not in ("stack", "constant"):
            bit = self._source(value.origin)
            self.public |= bit
            self._need(n, kind, value.deps & ~bit)
        else:
            self._need(n, kind, value.deps)

    def _place(self, n, operand, state, access=True):
        """Origin and offset of a memory operand."""
        if operand.segment in ("fs", "gs"):
            return ("thread",), None
        if operand.base == "rip":
            return ("constant",), self.code[n].absolute
        if access:
            self.addressed.add(n)
        base = state.registers[GENERAL[operand.base][0]] if operand.base else CONSTANT
        index = CONSTANT
        if operand.index and operand.index[0] in "xyz":
            index = Value(state.registers["v" + operand.index[3:]].deps)
        elif operand.index:
            index = state.registers[GENERAL[operand.index][0]]
        if operand.scale == 1 and self._is_the_pointer(index, base):
            base, index = index, base
        if access:
            self._dereference(n, base)
            self._need(n, "address", index.deps)
        offset = None if base.offset is None or operand.index else base.offset + operand.offset
        return base.origin, offset

    def _is_the_pointer(self, index, base):
        """Of a sum of two registers."""
        if index.origin is None or base.origin is not None and base.origin[0] == "stack":
            return False
        return base.origin is None or index.origin[0] == "stack" or (
            self._is_public(index) and not self._is_public(base))

    def _load(self, n, operand, state):
        origin, offset = self._place(n, operand, state)
        size = operand.size
        if origin is not None and origin[0] == "stack" and offset is not None:
            self.accesses[origin, offset, size].add("load")
            return self._load_slot(state, origin, offset, size)
        if origin is not None and origin[0] == "constant":
            return CONSTANT
        if origin is None or offset is None or origin[0] in ("thread", "stack"):
            return self._value_of(("memory at", self.code[n].address), size)
        if size > 8:
            parts = range(offset, offset + size, 8)
            return of_lanes(tuple(self._value_of(("field", origin, part, 8)) for part in parts))
        return self._value_of(("field", origin, offset, size), size)

    def _load_slot(self, state, origin, offset, size):
        if size > 8:
            parts = range(offset, offset + size, 8)
            return of_lanes(tuple(self._load_slot(state, origin, part, 8) for part in parts))
        exact = state.slots.get((origin, offset, size))
        deps = 0
        for place in self._overlapping(origin, offset, size):
            overlapping = state.slots.get(place)
            if overlapping and size == 1 and place[1] == offset and overlapping.low is not None:
                deps |= overlapping.low
            else:
                deps |= overlapping.deps if overlapping else 0
        if not self.arrays_are_kept_within and (origin, offset, size) not in self.spilled:
            deps |= state.anywhere
        if exact is None and origin == ("stack", 0) and offset >= 0:
            return self._value_of(("argument on the stack", offset, size), size)
        if exact is None or deps & ~exact.deps and exact.origin is None:
            return Value(deps | (exact.deps if exact else 0))
        return Value(exact.deps | deps, exact.origin if not deps else None, exact.offset)

    def _overlapping(self, origin, offset, size):
        """Other slots with bytes of this one."""
        found = self.neighbours.get((origin, offset, size))
        if found is None:
            found = self.neighbours[origin, offset, size] = [
                (origin, start, other) for start in range(offset - 7, offset + size) for other in (1, 2, 4, 8)
                if start + other > offset and (start, other) != (offset, size) and (origin, start, other) in self.slots]
        return found

    def _fill_slot(self, state, origin, offset, size, value):
        for place in self._overlapping(origin, offset, size):
            old = state.slots.pop(place, None)
            # What is left of it.
            for byte in range(place[1], place[1] + place[2]) if old else ():
                if not offset <= byte < offset + size:
                    self._put(state, (origin, byte, 1), Value(old.deps))
        self._put(state, (origin, offset, size), value)

    def _put(self, state, place, value):
        if place not in self.slots:
            self.slots.add(place)
            self.neighbours = {}
        state.slots[place] = value

    def _store(self, n, operand, state, value, kind="store"):
        origin, offset = self._place(n, operand, state)
        if value.origin is not None and value.origin[0] == "stack":
            self._escapes(value)
        if origin is None or origin[0] != "stack":
            # A field that is read as a public one must not get a secret.
            if origin is not None and offset is not None:
                for part in range(offset & ~7, offset + operand.size, 8):
                    if self.bits.get(("field", origin, part, 8), 0) & self.public:
                        self._need(n, "store to a public field", value.deps)
            state.anywhere |= value.deps if origin is None else 0
            return
        if offset is None:
            state.anywhere |= value.deps
            return
        size = operand.size
        self.accesses[origin, offset, size].add(kind)
        parts = [(offset, size, value)]
        if size > 8:
            lanes = value.lanes
            if not lanes or len(lanes) * 8 != size:
                lanes = (Value(value.deps),) * (size // 8)
            parts = [(offset + 8 * number, 8, lane) for number, lane in enumerate(lanes)]
        for offset, size, part in parts:
            self._fill_slot(state, origin, offset, size, part)

    def _escapes(self, value):
        """The address of a stack slot is known elsewhere."""
        if value.offset is not None:
            self.accesses[value.origin, value.offset, 1].add("address")

    # Instructions.

    def _read(self, n, operand, state):
        if operand.kind == "constant":
            return CONSTANT
        if operand.kind == "memory":
            return self._load(n, operand, state)
        value = state.registers[operand.register]
        if operand.kind == "vector":
            if value.lanes and len(value.lanes) * 8 > operand.size:
                return of_lanes(value.lanes[:operand.size // 8])
            return value
        if operand.size == 8:
            return value if value.low is None else Value(value.deps, value.origin, value.offset)
        return Value(value.low if operand.size == 1 and value.low is not None else value.deps)

    def _write(self, n, operand, state, value):
        if operand.kind == "memory":
            self._store(n, operand, state, value)
            return
        old = state.registers[operand.register].deps
        if operand.mask:
            deps = value.deps | state.registers[operand.mask].deps
            value = Value(deps if operand.zeroing else deps | old)
        elif operand.kind == "general" and operand.size < 4:
            kept = old & ~self.left_over
            value = Value(value.deps | kept, low=value.deps if operand.size == 1 else None)
        elif operand.kind == "general" and operand.size == 4:
            value = Value(value.deps)
        state.registers[operand.register] = value

    def _flags(self, state, condition):
        deps = 0
        for flag in flags_of(condition):
            deps |= state.registers[flag].deps
        return deps

    def _step(self, n, instruction, state):
        name, operands = instruction.name, instruction.operands
        if name.startswith("nop"):
            if instruction.public:
                self._state_public(GENERAL[instruction.public][0], state)
            return
        if name in ENDS or name in ("endbr64", "pause", "lfence", "vzeroupper", "vzeroall"):
            return
        if name == "call":
            self._call(n, instruction, state)
        elif name == "jmp":
            if operands:
                self._need(n, "jump", self._read(n, operands[0], state).deps)
        elif name[0] == "j":
            self.jumps.add(n)
            counted = name in ("jrcxz", "jecxz")
            deps = state.registers["rcx"].deps if counted else self._flags(state, name[1:])
            self._need(n, "jump", deps)
        elif name.startswith("set"):
            self._write(n, operands[0], state, Value(self._flags(state, name[3:])))
        elif name.startswith("cmov"):
            deps = self._flags(state, name[4:])
            value = self._read(n, operands[0], state).join(self._read(n, operands[1], state))
            self._write(n, operands[0], state, Value(value.deps | deps, value.origin, value.offset))
        elif name.startswith("rep "):
            self._repeated(n, name, state)
        elif name == "push":
            top = state.registers["rsp"]
            state.registers["rsp"] = Value(0, top.origin, top.offset - 8)
            self.accesses[top.origin, top.offset - 8, 8].add("store")
            self._fill_slot(state, top.origin, top.offset - 8, 8, self._read(n, operands[0], state))
        elif name == "pop":
            top = state.registers["rsp"]
            self.accesses[top.origin, top.offset, 8].add("load")
            state.registers[operands[0].register] = self._load_slot(state, top.origin, top.offset, 8)
            state.registers["rsp"] = Value(0, top.origin, top.offset + 8)
        elif name.startswith("prefetch"):
            self._place(n, operands[0], state)
        elif any(operand.kind == "vector" for operand in operands):
            self._vector(n, name, operands, state)
        else:
            self._integer(n, name, operands, state)

    def _state_public(self, name, state):
        value = state.registers[name]
        # Only a source plus a constant is public as a whole: a part of a source may be public alone.
        if value.origin is not None and value.offset is not None:
            self.public |= self._source(value.origin)
        else:
            state.registers[name] = CONSTANT

    def _integer(self, n, name, operands, state):
        registers = state.registers
        if name == "lea":
            return self._lea(n, operands, state)
        if name in ("mov", "movabs"):
            if operands[0].kind == "memory" and operands[1].kind == "constant":
                return self._store(n, operands[0], state, CONSTANT, "constant")
            value = self._read(n, operands[1], state)
            if operands[0].kind == "memory" and operands[1].kind == "general":
                # A flag that was written to the lowest byte of a register stays one where that is spilled.
                value = Value(value.deps, value.origin, value.offset, state.registers[operands[1].register].low)
            return self._write(n, operands[0], state, value)
        if name in ("cqo", "cdq", "cwd"):
            registers["rdx"] = Value(registers["rax"].deps)
            return None
        if name in ("cdqe", "cwde", "cbw"):
            registers["rax"] = Value(registers["rax"].deps)
            return None
        if name in ("div", "idiv") or name in ("mul", "imul") and len(operands) == 1:
            deps = self._read(n, operands[0], state).deps | registers["rax"].deps
            if name in ("div", "idiv"):
                deps |= registers["rdx"].deps
                self._need(n, "division", deps)
            for place in ("rax", "rdx", CARRY, REST):
                registers[place] = Value(deps)
            return None
        if name == "mulx":
            deps = self._read(n, operands[2], state).deps | registers["rdx"].deps
            registers[operands[0].register] = registers[operands[1].register] = Value(deps)
            return None
        if name == "xchg":
            first, second = (self._read(n, operand, state) for operand in operands)
            self._write(n, operands[0], state, second)
            return self._write(n, operands[1], state, first)
        return self._arithmetic(n, name, operands, state)

    def _lea(self, n, operands, state):
        target, source = operands
        if source.base == "rip":
            return self._write(n, target, state, Value(0, ("constant",), self.code[n].absolute))
        origin, offset = self._place(n, source, state, access=False)
        deps = 0
        for name in (source.base, source.index):
            deps |= state.registers[GENERAL[name][0]].deps if name else 0
        value = Value(deps, origin, offset)
        if origin is not None and origin[0] == "stack":
            self._escapes(value)
        return self._write(n, target, state, value)

    def _arithmetic(self, n, name, operands, state):
        registers = state.registers
        values = [self._read(n, operand, state) for operand in operands]
        overwrites = name in OVERWRITES or name == "imul" and len(operands) == 3
        deps = 0
        for value in values[1:] if overwrites else values:
            deps |= value.deps
        same = len(operands) == 2 and operands[0].kind == "general" and (
            operands[0].register == operands[1].register and operands[0].size == operands[1].size)
        if name in ("xor", "sub", "sbb") and same:
            deps = 0
        if name in ("adc", "sbb", "adcx", "adox", "rcl", "rcr"):
            deps |= registers[REST if name == "adox" else CARRY].deps
        if name not in FLAGS_KEPT:
            if name in ("bt", "bts", "btr", "btc", "rol", "ror"):
                registers[CARRY] = Value(deps)
            else:
                by_register = name in ("shl", "shr", "sar", "shld", "shrd") and operands[-1].kind != "constant"
                old = registers[CARRY].deps | registers[REST].deps if by_register else 0
                registers[REST] = Value(deps | old)
                if name not in ("inc", "dec"):
                    registers[CARRY] = Value(deps | old)
        if name in ("cmp", "test", "bt"):
            return
        value = Value(deps)
        if name in ("add", "sub", "inc", "dec") and operands[0].size == 8 and not same:
            value = self._moved(name, operands, values, deps)
        if name == "and" and operands[0].kind == "general" and operands[0].register == "rsp":
            value = Value(0, ("stack", self.code[n].address), 0)
        self._write(n, operands[0], state, value)

    def _moved(self, name, operands, values, deps):
        """A sum or difference, which may be a pointer."""
        first, second = values[0], values[1] if len(values) > 1 else CONSTANT
        constant = 1 if len(values) == 1 else operands[1].value
        if constant is not None:
            if first.origin is None:
                return Value(deps)
            constant = -constant if name in ("sub", "dec") else constant
            return Value(deps, first.origin, None if first.offset is None else first.offset + constant)
        if name == "sub":
            # The difference of pointers is none.
            pointer = first.origin is not None and second.origin is None
            return Value(deps, first.origin if pointer else None)
        if self._is_the_pointer(second, first):
            first, second = second, first
        return Value(deps, first.origin)

    def _vector(self, n, name, operands, state):
        registers = state.registers
        if SETS_FLAGS.fullmatch(name):
            deps = 0
            for operand in operands:
                deps |= self._read(n, operand, state).deps
            registers[CARRY] = registers[REST] = Value(deps)
            return
        target, sources = operands[0], operands[1:]
        # A masked load reads as much as any; what is stored or gathered depends on the mask.
        gathers = any(operand.index and operand.index[0] in "xyz" for operand in operands if operand.kind == "memory")
        if target.mask and (target.kind == "memory" or gathers):
            self._need(n, "mask of an access", registers[target.mask].deps)
        if COPIES.fullmatch(name) and len(operands) == 2:
            self._copy(n, target, sources[0], state)
            return
        used = [operand.register for operand in sources if operand.kind == "vector"]
        alone = len(set(used)) == 1 and (len(used) == 2 or len(operands) == 2 and used[0] == target.register)
        if SAME_IS_CONSTANT.fullmatch(name) and alone and not target.mask:
            registers[target.register] = CONSTANT
            return
        if name.startswith("vpternlog") and sources[-1].value in (0, 255) and not target.mask:
            registers[target.register] = CONSTANT
            return
        deps = 0
        for operand in sources:
            deps |= self._read(n, operand, state).deps
        legacy = name[0] not in "vk" and not LEGACY_WRITES.match(name)
        if target.kind == "vector" and (legacy or READS_TARGET.search(name)):
            deps |= registers[target.register].deps
        self._write(n, target, state, Value(deps))

    def _copy(self, n, target, source, state):
        value = self._read(n, source, state)
        width = min(operand.size for operand in (target, source))
        if width == 8 and source.kind == "vector" and value.lanes:
            value = value.lanes[0]
        elif width == 8 and source.kind != "vector":
            value = Value(value.deps, lanes=(Value(value.deps, value.origin, value.offset), CONSTANT))
        elif width < 8 or not value.lanes:
            value = Value(value.deps)
        self._write(n, target, state, value)

    def _repeated(self, n, name, state):
        """`rep movs` and `rep stos`: `rcx` times."""
        registers = state.registers
        self._need(n, "length", registers["rcx"].deps)
        for place in ("rdi", "rsi") if "movs" in name else ("rdi",):
            self._dereference(n, registers[place])
        state.anywhere |= self._source(("memory at", self.code[n].address))
        for place in ("rcx", "rdi", "rsi"):
            registers[place] = CONSTANT

    def _call(self, n, instruction, state):
        callee, registers = self._callee(instruction), state.registers
        if callee in self.program.never_return:
            return
        if callee is None and instruction.operands:
            self._need(n, "call", self._read(n, instruction.operands[0], state).deps)
        self.called.add(callee)
        name = self.program.names.get(callee) or ""
        if re.match(r"mem(cpy|set|move|cmp)|bcmp", name):
            for place in ("rdi",) if name.startswith("memset") else ("rdi", "rsi"):
                self._dereference(n, registers[place])
            self._need(n, "length", registers["rdx"].deps)
        for place in VECTORS:
            registers[place] = Value(self._source(("result of the call at", instruction.address)))
        for place in VOLATILE + [CARRY, REST]:
            registers[place] = Value(self._source(("left by the call at", instruction.address)))
        self.left_over |= registers["rsi"].deps
        for place in ("rax", "rdx"):
            registers[place] = self._value_of(("result of the call at", instruction.address, place))
        self.left_over |= registers["rdx"].deps
        state.anywhere |= self._source(("memory at", instruction.address))

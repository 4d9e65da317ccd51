// One operation of MOTION between processes over loopback TCP, as in its benchmark_integers and
// benchmark_primitive_operations, which run all of theirs in one process and stop for ever at some place.
//
//   motion_operations --my-id ID --parties 0,127.0.0.1,PORT ... --disable-logging PROTOCOL OPERATION BITS SIMD
//
// PROTOCOL is that of the inputs, which the first party brings: BooleanGMW, BMR or ArithmeticGMW. OPERATION is
// ADD, SUB, MUL, DIV, EQ or GT, or a conversion: A2B, A2Y, B2A, B2Y, Y2A, Y2B. Prints what MOTION's programs print.
#include <fmt/format.h>

#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/party.h"
#include "communication/communication_layer.h"
#include "communication/tcp_transport.h"
#include "protocols/share_wrapper.h"
#include "secure_type/secure_unsigned_integer.h"
#include "statistics/analysis.h"
#include "statistics/run_time_statistics.h"
#include "utility/bit_vector.h"

using namespace encrypto::motion;

static std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> parts(1);
    for (char c : text)
        if (c == ',') parts.emplace_back();
        else parts.back() += c;
    return parts;
}

template <class T>
static ShareWrapper arithmetic(PartyPointer &party, std::size_t simd) {
    return party->In<MpcProtocol::kArithmeticGmw>(std::vector<T>(simd), 0);
}

static ShareWrapper input(PartyPointer &party, const std::string &protocol, std::size_t bits, std::size_t simd) {
    const std::vector<BitVector<>> zeros(bits, BitVector<>(simd));
    if (protocol == "BooleanGMW") return party->In<MpcProtocol::kBooleanGmw>(zeros, 0);
    if (protocol == "BMR") return party->In<MpcProtocol::kBmr>(zeros, 0);
    if (protocol != "ArithmeticGMW") throw std::invalid_argument("no such protocol: " + protocol);
    switch (bits) {
        case 8: return arithmetic<std::uint8_t>(party, simd);
        case 16: return arithmetic<std::uint16_t>(party, simd);
        case 32: return arithmetic<std::uint32_t>(party, simd);
        case 64: return arithmetic<std::uint64_t>(party, simd);
        default: throw std::invalid_argument("8, 16, 32 or 64 bits");
    }
}

// What is computed is not opened: MOTION's programs do not either.
static void evaluate(PartyPointer &party, const std::string &protocol, const std::string &operation, std::size_t bits,
                     std::size_t simd) {
    ShareWrapper x = input(party, protocol, bits, simd);
    if (operation == "A2B" || operation == "Y2B") return void(x.Convert<MpcProtocol::kBooleanGmw>());
    if (operation == "A2Y" || operation == "B2Y") return void(x.Convert<MpcProtocol::kBmr>());
    if (operation == "B2A" || operation == "Y2A") return void(x.Convert<MpcProtocol::kArithmeticGmw>());
    ShareWrapper y = input(party, protocol, bits, simd);
    if (protocol == "ArithmeticGMW") {
        if (operation == "ADD") return void(x + y);
        if (operation == "SUB") return void(x - y);
        if (operation == "MUL") return void(x * y);
        throw std::invalid_argument("not on arithmetic shares: " + operation);
    }
    SecureUnsignedInteger a(x), b(y);
    if (operation == "ADD") return void(a + b);
    if (operation == "SUB") return void(a - b);
    if (operation == "MUL") return void(a * b);
    if (operation == "DIV") return void(a / b);
    if (operation == "EQ") return void(a == b);
    if (operation == "GT") return void(a > b);
    throw std::invalid_argument("no such operation: " + operation);
}

int main(int count, char **arguments) {
    std::vector<std::string> words, addresses;
    std::size_t my_id = 0;
    for (int i = 1; i < count; i++) {
        const std::string word = arguments[i];
        if (word == "--my-id") my_id = std::stoul(arguments[++i]);
        else if (word.find(',') != std::string::npos) addresses.push_back(word);
        else if (word.rfind("--", 0) != 0) words.push_back(word);
    }
    if (words.size() != 4 || addresses.size() < 2 || my_id >= addresses.size()) {
        std::cerr << "motion_operations --my-id ID --parties ID,ADDRESS,PORT ... PROTOCOL OPERATION BITS SIMD\n";
        return 2;
    }
    communication::TcpPartiesConfiguration configuration(addresses.size());
    for (const auto &address : addresses) {
        const auto parts = split(address);
        configuration.at(std::stoul(parts.at(0))) = {parts.at(1), static_cast<std::uint16_t>(std::stoul(parts.at(2)))};
    }
    const std::size_t bits = std::stoul(words[2]), simd = std::stoul(words[3]);
    communication::TcpSetupHelper helper(my_id, configuration);
    PartyPointer party = std::make_unique<Party>(
        std::make_unique<communication::CommunicationLayer>(my_id, helper.SetupConnections()));
    party->GetConfiguration()->SetLoggingEnabled(false);
    party->GetConfiguration()->SetOnlineAfterSetup(true);
    evaluate(party, words[0], words[1], bits, simd);
    party->Run();
    party->Finish();
    AccumulatedRunTimeStatistics times;
    times.Add(party->GetBackend()->GetRunTimeStatistics().front());
    AccumulatedCommunicationStatistics messages;
    messages.Add(party->GetBackend()->GetCommunicationLayer().GetTransportStatistics());
    const auto name = fmt::format("Protocol {} operation {} bit size {} SIMD {}", words[0], words[1], bits, simd);
    std::cout << PrintStatistics(name, times, messages) << std::flush;
}

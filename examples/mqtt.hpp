// MQTT 3.1.1, as far as the device connection needs it: a session that ends with the connection, and QoS 1. docs/mqtt.md
#pragma once

#include <map>

#include "connection.hpp"

class Mqtt : public Connection {
 public:
  Mqtt(const Place& place, const std::string& device, const std::string& secret) : Connection(place) {
    const std::string flags = "\xc2";  // a user name, a password, a clean session
    sendPacket(0x10, text("MQTT") + "\x04" + flags + word(keepAliveSeconds) + text(device) + text(device) + text(secret));
    for (;;) {
      if (const auto answer = takePacket()) {
        if (answer->type != 0x2) throw std::runtime_error("no MQTT at this address");
        const unsigned code = byteAt(answer->body, 1);
        if (code == 4 || code == 5) throw Refused("name and secret do not match");
        if (code != 0) throw std::runtime_error("CONNACK " + std::to_string(code));
        return;
      }
      receiveMore();
    }
  }

  // PUBACK means that the server has stored the message.
  void send(const std::string& payload) override {
    lastId = lastId % 65535 + 1;
    published[lastId] = payload;
    sendPacket(0x32, text("v1/link") + word(lastId) + payload);
  }

 protected:
  // PUBACK of an UPDATE becomes its ACK: ["U", flakeAddress, seq, ...] is answered by ["A", flakeAddress, seq].
  std::optional<std::string> takeMessage() override {
    while (const auto packet = takePacket()) {
      if (packet->type == 0x3) return packet->body.substr(2 + wordAt(packet->body, 0));
      if (packet->type != 0x4) continue;
      const auto acknowledged = published.find(wordAt(packet->body, 0));
      if (acknowledged == published.end()) continue;
      const std::string payload = acknowledged->second;
      published.erase(acknowledged);
      if (payload.compare(0, 4, "[\"U\"") != 0) continue;
      const size_t service = payload.find(',', payload.find(',', 5) + 1);
      return "[\"A\"" + payload.substr(4, service - 4) + "]";
    }
    return {};
  }

  void onSilence(Clock::duration silence) override {
    if (silence > std::chrono::seconds(3 * keepAliveSeconds / 2)) throw Closed(1006, "silence");
    if (Clock::now() - sentAt < std::chrono::seconds(keepAliveSeconds / 2)) return;
    sendPacket(0xc0, "");
  }

 private:
  static constexpr int keepAliveSeconds = 30;

  struct Packet {
    unsigned type;
    std::string body;
  };

  unsigned lastId = 0;
  std::map<unsigned, std::string> published;  // by packet identifier, until PUBACK
  Clock::time_point sentAt = Clock::now();

  static std::string word(size_t value) {
    return {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
  }
  static unsigned wordAt(const std::string& bytes, size_t at) { return byteAt(bytes, at) << 8 | byteAt(bytes, at + 1); }
  static std::string text(const std::string& value) { return word(value.size()) + value; }

  void sendPacket(unsigned char first, const std::string& body) {
    std::string packet(1, static_cast<char>(first));
    size_t rest = body.size();
    do {
      packet += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
      rest >>= 7;
    } while (rest > 0);
    sendAll(packet + body);
    sentAt = Clock::now();
  }

  // One packet of the received bytes; nothing while it is incomplete.
  std::optional<Packet> takePacket() {
    size_t size = 0, at = 1;
    for (int shift = 0;; shift += 7, at++) {
      if (at >= buffer.size()) return {};
      size |= static_cast<size_t>(byteAt(buffer, at) & 0x7f) << shift;
      if (byteAt(buffer, at) < 0x80) break;
    }
    at++;
    if (buffer.size() - at < size) return {};
    Packet packet = {byteAt(buffer, 0) >> 4, buffer.substr(at, size)};
    buffer.erase(0, at + size);
    return packet;
  }
};

// The client's side of RFC 6455, as far as the device connection needs it.
#pragma once

#include <array>
#include <random>

#include "connection.hpp"

inline std::string base64(const std::string& bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t place = 0; place < 3; place++)
      group = group << 8 | (at + place < bytes.size() ? static_cast<uint8_t>(bytes[at + place]) : 0);
    for (size_t place = 0; place < 4; place++)
      text += at + place <= bytes.size() ? digits[group >> (18 - 6 * place) & 63] : '=';
  }
  return text;
}

// RFC 3174. SHA-1 is not safe for signatures, but the websocket handshake does not need that.
inline std::string sha1(std::string message) {
  const uint64_t bits = message.size() * 8;
  message += '\x80';
  message.append((120 - message.size() % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) message += static_cast<char>(bits >> shift);
  const auto rotated = [](uint32_t word, int by) { return word << by | word >> (32 - by); };
  std::array<uint32_t, 5> hash = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (size_t block = 0; block < message.size(); block += 64) {
    uint32_t words[80];
    for (int t = 0; t < 80; t++) {
      if (t >= 16) {
        words[t] = rotated(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1);
        continue;
      }
      words[t] = 0;
      for (int place = 0; place < 4; place++)
        words[t] = words[t] << 8 | static_cast<uint8_t>(message[block + t * 4 + place]);
    }
    auto [a, b, c, d, e] = hash;
    for (int t = 0; t < 80; t++) {
      const uint32_t mixed = t < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                             : t < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                             : t < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                      : (b ^ c ^ d) + 0xca62c1d6;
      const uint32_t next = rotated(a, 5) + mixed + e + words[t];
      e = d, d = c, c = rotated(b, 30), b = a, a = next;
    }
    hash = {hash[0] + a, hash[1] + b, hash[2] + c, hash[3] + d, hash[4] + e};
  }
  std::string digest;
  for (const uint32_t word : hash)
    for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(word >> shift);
  return digest;
}

class WebSocket : public Connection {
 public:
  WebSocket(const Place& place, const std::string& path, const std::string& subprotocol, const std::string& name,
            const std::string& secret)
      : Connection(place) {
    upgrade(place, path, subprotocol, base64(name + ":" + secret));
  }

  void send(const std::string& text) override { send(0x1, text); }

 protected:
  // Answers pings meanwhile.
  std::optional<std::string> takeMessage() override {
    while (const auto frame = takeFrame()) {
      if (frame->opcode == 0x8)
        throw Closed(frame->payload.size() < 2 ? 1005 : byteAt(frame->payload, 0) << 8 | byteAt(frame->payload, 1),
                     frame->payload.substr(std::min<size_t>(2, frame->payload.size())));
      if (frame->opcode == 0x9) send(0xa, frame->payload);
      if (frame->opcode > 0x1) continue;
      message += frame->payload;
      if (frame->isLast) return std::exchange(message, {});
    }
    return {};
  }

  // The server pings every 30 s.
  void onSilence(Clock::duration silence) override {
    if (silence > std::chrono::seconds(75)) throw Closed(1006, "silence");
  }

 private:
  struct Frame {
    bool isLast;
    int opcode;
    std::string payload;
  };

  std::string message;
  std::random_device chance;

  void upgrade(const Place& place, const std::string& path, const std::string& subprotocol,
               const std::string& credentials) {
    const std::string key = base64(randomBytes(16));
    sendAll("GET " + place.prefix + path + " HTTP/1.1\r\nHost: " + place.host + ":" + place.port +
            "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key +
            "\r\nSec-WebSocket-Protocol: " + subprotocol + "\r\nAuthorization: Basic " + credentials + "\r\n\r\n");
    size_t end;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos) receiveMore();
    const std::string head = buffer.substr(0, end);
    buffer.erase(0, end + 4);
    const std::string status = head.substr(0, head.find("\r\n"));
    if (status.find(" 401 ") != std::string::npos) throw Refused("name and secret do not match");
    // Shows that the server knows websockets and answers this request.
    const std::string accept = base64(sha1(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    if (status.find(" 101 ") == std::string::npos || head.find(accept) == std::string::npos)
      throw std::runtime_error("no websocket at this address: " + status);
  }

  void send(int opcode, const std::string& payload) {
    std::string frame(1, static_cast<char>(0x80 | opcode));
    const size_t size = payload.size();
    const int sizeBytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
    frame += static_cast<char>(0x80 | (sizeBytes == 0 ? size : sizeBytes == 2 ? 126 : 127));
    for (int shift = 8 * (sizeBytes - 1); shift >= 0; shift -= 8)
      frame += static_cast<char>(static_cast<uint64_t>(size) >> shift);
    const std::string mask = randomBytes(4);
    frame += mask;
    for (size_t at = 0; at < size; at++) frame += static_cast<char>(payload[at] ^ mask[at % 4]);
    sendAll(frame);
  }

  // One frame of the received bytes; nothing while it is incomplete.
  std::optional<Frame> takeFrame() {
    if (buffer.size() < 2) return {};
    uint64_t size = byteAt(buffer, 1) & 0x7f;
    const size_t start = size < 126 ? 2 : size == 126 ? 4 : 10;
    if (buffer.size() < start) return {};
    if (start > 2) size = 0;
    for (size_t at = 2; at < start; at++) size = size << 8 | byteAt(buffer, at);
    if (buffer.size() - start < size) return {};
    Frame frame = {(byteAt(buffer, 0) & 0x80) != 0, static_cast<int>(byteAt(buffer, 0) & 0x0f),
                   buffer.substr(start, size)};
    buffer.erase(0, start + size);
    return frame;
  }

  std::string randomBytes(int count) {
    std::string bytes;
    while (count-- > 0) bytes += static_cast<char>(chance());
    return bytes;
  }
};

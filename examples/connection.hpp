// A device connection over a POSIX socket, without TLS. Outside of your own network, add TLS with a library, or with a
// proxy next to the device.
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

// The connection has ended. `code` says whether to connect again; docs/api.md lists the codes.
struct Closed : std::runtime_error {
  int code;
  Closed(int code, const std::string& reason)
      : std::runtime_error("closed with " + std::to_string(code) + " " + reason), code(code) {}
};

// The server did not accept the credentials.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// http://host:port/prefix or mqtt://host:port
struct Place {
  std::string host, port, prefix;
  bool isMqtt = false;

  explicit Place(std::string url) {
    for (const std::string scheme : {"http://", "ws://", "mqtt://"})
      if (url.compare(0, scheme.size(), scheme) == 0) {
        isMqtt = scheme == "mqtt://";
        url.erase(0, scheme.size());
        const size_t slash = std::min(url.find('/'), url.size());
        prefix = url.substr(slash);
        while (!prefix.empty() && prefix.back() == '/') prefix.pop_back();
        host = url.substr(0, slash);
        const size_t colon = host.rfind(':');
        port = colon == std::string::npos ? (isMqtt ? "1883" : "80") : host.substr(colon + 1);
        if (colon != std::string::npos) host.erase(colon);
        return;
      }
    throw std::invalid_argument("an address such as http://127.0.0.1:8080 or mqtt://127.0.0.1:1883 is needed");
  }
};

// Sends and receives messages of the device connection.
class Connection {
 public:
  Connection(const Connection&) = delete;
  virtual ~Connection() { close(descriptor); }

  virtual void send(const std::string& text) = 0;

  // The next message; nothing if none arrives in this time.
  std::optional<std::string> receive(std::chrono::milliseconds patience) {
    const auto until = Clock::now() + patience;
    for (;;) {
      if (const auto message = takeMessage()) return message;
      onSilence(Clock::now() - heardAt);
      const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      pollfd readable = {descriptor, POLLIN, 0};
      if (poll(&readable, 1, static_cast<int>(std::max<long>(rest, 0))) <= 0) return {};
      receiveMore();
    }
  }

 protected:
  using Clock = std::chrono::steady_clock;

  std::string buffer;

  explicit Connection(const Place& place) : descriptor(connected(place)) {}

  // A complete message among the received bytes.
  virtual std::optional<std::string> takeMessage() = 0;
  // The time since the last received bytes.
  virtual void onSilence(Clock::duration silence) = 0;

  static unsigned byteAt(const std::string& bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

  void sendAll(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(descriptor, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno != EINTR) throw Closed(1006, std::strerror(errno));
      sent += static_cast<size_t>(std::max<ssize_t>(count, 0));
    }
  }

  void receiveMore() {
    char bytes[65536];
    const ssize_t count = recv(descriptor, bytes, sizeof bytes, 0);
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) throw Closed(1006, count == 0 ? "without a close frame" : std::strerror(errno));
    buffer.append(bytes, static_cast<size_t>(count));
    heardAt = Clock::now();
  }

 private:
  int descriptor;
  Clock::time_point heardAt = Clock::now();

  static int connected(const Place& place) {
    addrinfo wish{}, *found = nullptr;
    wish.ai_socktype = SOCK_STREAM;
    if (const int code = getaddrinfo(place.host.c_str(), place.port.c_str(), &wish, &found))
      throw std::runtime_error(gai_strerror(code));
    int descriptor = -1;
    for (const addrinfo* each = found; each && descriptor < 0; each = each->ai_next) {
      descriptor = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
      const timeval patience = {10, 0};
      setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      const int isOn = 1;
      setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &isOn, sizeof isOn);
      if (descriptor >= 0 && connect(descriptor, each->ai_addr, each->ai_addrlen) < 0) {
        close(descriptor);
        descriptor = -1;
      }
    }
    freeaddrinfo(found);
    if (descriptor < 0) throw std::runtime_error("no server answers");
    return descriptor;
  }
};

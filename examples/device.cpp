// A thermostat in C++17 with only POSIX sockets, which connects by websocket or MQTT.
//
//   g++ -std=c++17 -O2 -o device device.cpp
//   DEVICE_SECRET=... ./device http://127.0.0.1:8080 THERMOSTAT-1 [seconds between reports]
//   DEVICE_SECRET=... ./device mqtt://127.0.0.1:1883 THERMOSTAT-1 [seconds between reports]
//
// It does the same as device.py: declares its properties (HELLO), reports its measurements (UPDATE), and keeps them until
// they are acknowledged (ACK). It executes writes (WRITE, RESULT). After an interruption it reconnects and sends the
// reports that the server has not stored (WELCOME.seq). docs/api.md describes the device connection,
// docs/device-guide.md how a good device behaves.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "json.hpp"
#include "mqtt.hpp"
#include "websocket.hpp"

using std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

namespace {

constexpr unsigned temperatureId = 0x2000, setpointId = 0x2001, reportsId = 0x2002;

constexpr size_t unacknowledgedMax = 10'000;  // kept without a connection; above it the oldest are dropped
constexpr size_t answeredMax = 1'000;         // WRITEs whose results are remembered
constexpr double pauseSecondsMax = 60;        // between two attempts to reconnect

double chance() {
  static std::mt19937 generator{std::random_device{}()};
  return std::uniform_real_distribution<>(0, 1)(generator);
}

void printLine(const std::string& text) {
  std::puts(text.c_str());
  std::fflush(stdout);
}

// The device, and the state that it keeps from one connection to the next.
class Thermostat {
 public:
  Thermostat(std::string identifier, Seconds every) : identifier(std::move(identifier)), every(every) {
    static const char digits[] = "0123456789abcdef";
    for (int place = 0; place < 32; place++) session += digits[static_cast<int>(chance() * 16)];
  }

  // Uses an open connection until it ends with an exception.
  void serve(Connection& open) {
    link = &open;
    inFlight = flakeAddress = 0;
    link->send("{\"type\":\"HELLO\",\"deviceIdentifier\":" + quoted(identifier) + ",\"session\":" + quoted(session) +
               ",\"services\":[{\"serviceIdentifier\":\"climate\",\"properties\":["
               "{\"propId\":8192,\"type\":\"FLOAT\",\"modifier\":{\"isReadOnly\":true}},"
               "{\"propId\":8193,\"type\":\"FLOAT\"},"
               "{\"propId\":8194,\"type\":\"UINT32\",\"modifier\":{\"isReadOnly\":true}}]}]}");
    for (;;) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(dueAt - steady_clock::now());
      if (const auto text = link->receive(std::max(rest, std::chrono::milliseconds(0)))) hear(Json::parse(*text));
      measure();
    }
  }

  // Whether WELCOME was received on the last connection.
  bool leave() { return std::exchange(flakeAddress, 0) != 0; }

  // Measures at equal intervals, also without a connection.
  void measure() {
    if (steady_clock::now() < dueAt) return;
    dueAt = std::max(dueAt + std::chrono::duration_cast<steady_clock::duration>(every), steady_clock::now());
    temperature += (setpoint - temperature) * 0.1;
    report(std::to_string(temperatureId) + "," + numeral(std::round(temperature * 100) / 100) + "," +
           std::to_string(reportsId) + "," + std::to_string(++reports));
  }

 private:
  struct Report {
    unsigned long seq;
    std::string items;
    long long at;  // Unix milliseconds, by our clock
  };

  const std::string identifier;
  const Seconds every;
  std::string session;  // new at each boot: numbering begins again
  unsigned long seq = 0;
  std::deque<Report> unacknowledged;            // the oldest first
  std::map<std::string, std::string> answered;  // id of a WRITE: its results
  std::deque<std::string> answeredIds;          // the oldest first
  double temperature = 18, setpoint = 21;
  unsigned long reports = 0;
  steady_clock::time_point dueAt = steady_clock::now();
  Connection* link = nullptr;
  unsigned long flakeAddress = 0;  // the number of this device in frames, from WELCOME on
  size_t window = 0;
  size_t inFlight = 0;  // how many of `unacknowledged`, from the left, were sent on this connection

  void report(const std::string& items) {
    if (unacknowledged.size() == unacknowledgedMax) forget(unacknowledged.front().seq);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    unacknowledged.push_back({++seq, items, std::chrono::duration_cast<std::chrono::milliseconds>(now).count()});
    sendWaiting();
  }

  // Sends the UPDATEs that were not sent on this connection yet, up to the window.
  void sendWaiting() {
    if (flakeAddress == 0) return;
    for (; inFlight < std::min(unacknowledged.size(), window); inFlight++) {
      const Report& next = unacknowledged[inFlight];
      link->send("[\"U\"," + std::to_string(flakeAddress) + "," + std::to_string(next.seq) + ",0,[" + next.items +
                 "]," + std::to_string(next.at) + "]");
    }
  }

  // Deletes the UPDATEs up to this number: they are stored.
  void forget(unsigned long stored) {
    while (!unacknowledged.empty() && unacknowledged.front().seq <= stored) {
      unacknowledged.pop_front();
      if (inFlight > 0) inFlight--;
    }
  }

  void hear(const Json& message) {
    if (message.kind == Json::Kind::list) {  // ["A", flakeAddress, seq]
      if (message.items.size() > 2) forget(static_cast<unsigned long>(message.items[2].number));
      sendWaiting();
      return;
    }
    const std::string& type = message["type"].text;
    if (type == "WELCOME") {
      const auto stored = static_cast<unsigned long>(message["seq"].number);
      forget(stored);
      flakeAddress = static_cast<unsigned long>(message["flakeAddress"].number);
      window = static_cast<size_t>(message["window"].number);
      printLine("connected, " + std::to_string(stored) + " stored, " + std::to_string(unacknowledged.size()) + " to send");
      sendWaiting();
    } else if (type == "WRITE") {
      write(message["id"].text, message["updates"].items);
    } else if (type == "ERROR") {
      printLine("refused: " + message["code"].text + " " + message["message"].text);
    }
  }

  // Applies each write once: the same id may arrive again if the answer was lost.
  void write(const std::string& id, const std::vector<Json>& updates) {
    if (answered.find(id) == answered.end()) {
      std::string results;
      for (const Json& each : updates)
        results += (results.empty() ? "" : ",") + change(each["propId"].number, each["value"].number);
      answered[id] = results;
      answeredIds.push_back(id);
      if (answeredIds.size() > answeredMax) {
        answered.erase(answeredIds.front());
        answeredIds.pop_front();
      }
    }
    link->send("{\"type\":\"RESULT\",\"flakeAddress\":" + std::to_string(flakeAddress) + ",\"id\":" + quoted(id) +
               ",\"results\":[" + answered[id] + "]}");
  }

  std::string change(double propId, double value) {
    const std::string result = "{\"propId\":" + numeral(propId) + ",\"status\":";
    if (propId != setpointId || value < 5 || value > 30)
      return result + "\"REJECTED\",\"message\":\"from 5 to 30 degrees\"}";
    setpoint = value;
    report(std::to_string(setpointId) + "," + numeral(value));  // before the RESULT, so that the caller then reads it
    printLine("setpoint " + numeral(value));
    return result + "\"OK\"}";
  }
};

std::unique_ptr<Connection> connect(const Place& place, const std::string& identifier, const std::string& secret) {
  if (place.isMqtt) return std::make_unique<Mqtt>(place, identifier, secret);
  return std::make_unique<WebSocket>(place, "/api/v1/link", "link.v1.json", identifier, secret);
}

[[noreturn]] void run(const Place& place, const std::string& identifier, const std::string& secret, Seconds every) {
  Thermostat thermostat(identifier, every);
  double pause = 1;
  for (;;) {
    std::string why;
    try {
      thermostat.serve(*connect(place, identifier, secret));
    } catch (const Refused&) {
      throw;
    } catch (const Closed& closed) {
      // A mistake of this program, or an invalid secret: do not try again.
      if (closed.code == 4400 || closed.code == 4401) throw;
      why = closed.what();
    } catch (const std::runtime_error& error) {
      why = error.what();
    }
    if (thermostat.leave()) pause = 1;
    // A random pause, so that a fleet does not reconnect all at once.
    const Seconds rest(pause * chance());
    char text[32];
    std::snprintf(text, sizeof text, "; reconnecting in %.1f s", rest.count());
    printLine(why + text);
    pause = std::min(pause * 2, pauseSecondsMax);
    for (const auto until = steady_clock::now() + rest; steady_clock::now() < until;) {
      thermostat.measure();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

}  // namespace

int main(int count, char** words) {
  const char* secret = std::getenv("DEVICE_SECRET");
  if (!secret || count < 3 || count > 4) {
    std::fprintf(stderr, "usage: DEVICE_SECRET=... %s http://127.0.0.1:8080 THERMOSTAT-1 [seconds]\n", words[0]);
    return 2;
  }
  try {
    run(Place(words[1]), words[2], secret, Seconds(count == 4 ? std::atof(words[3]) : 1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

// JSON as far as a device needs it (RFC 8259): messages of the server are parsed into a tree, those of the device are
// written as text. Numbers are doubles.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct Json {
  enum class Kind { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  double number = 0;  // 0 and 1 for booleans
  std::string text;
  std::vector<Json> items;                            // of a list
  std::vector<std::pair<std::string, Json>> members;  // of an object

  // The member with this name; null if there is none.
  const Json& operator[](const std::string& name) const {
    static const Json none;
    for (const auto& member : members)
      if (member.first == name) return member.second;
    return none;
  }

  static Json parse(const std::string& source);
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& source) : source(source) {}

  Json whole() {
    Json value = next(0);
    skip();
    if (at != source.size()) fail();
    return value;
  }

 private:
  static constexpr int depthMax = 32;
  const std::string& source;
  size_t at = 0;

  [[noreturn]] void fail() const { throw std::runtime_error("invalid JSON at " + std::to_string(at)); }
  char peek() const { return at < source.size() ? source[at] : '\0'; }
  void skip() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') at++;
  }
  bool take(char wanted) {
    skip();
    if (peek() != wanted) return false;
    at++;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail();
  }

  Json next(int depth) {
    if (depth > depthMax) fail();
    skip();
    Json value;
    if (take('{')) {
      value.kind = Json::Kind::object;
      if (take('}')) return value;
      do {
        skip();
        std::string name = string();
        expect(':');
        value.members.emplace_back(std::move(name), next(depth + 1));
      } while (take(','));
      expect('}');
    } else if (take('[')) {
      value.kind = Json::Kind::list;
      if (take(']')) return value;
      do value.items.push_back(next(depth + 1));
      while (take(','));
      expect(']');
    } else if (peek() == '"') {
      value.kind = Json::Kind::text;
      value.text = string();
    } else if (word("true") || word("false")) {
      value.kind = Json::Kind::boolean;
      value.number = source[at - 2] == 'u';
    } else if (!word("null")) {
      value.kind = Json::Kind::number;
      const char* start = source.c_str() + at;
      char* end = nullptr;
      value.number = std::strtod(start, &end);
      if (end == start) fail();
      at += static_cast<size_t>(end - start);
    }
    return value;
  }

  bool word(const std::string& wanted) {
    if (source.compare(at, wanted.size(), wanted) != 0) return false;
    at += wanted.size();
    return true;
  }

  std::string string() {
    if (peek() != '"') fail();
    std::string text;
    for (at++; peek() != '"'; at++) {
      if (at >= source.size()) fail();
      if (peek() != '\\') {
        text += peek();
        continue;
      }
      at++;
      const std::string escapes = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
      if (const size_t place = escapes.find(peek()); peek() != '\0' && place != std::string::npos) text += meant[place];
      else if (peek() == 'u') text += escaped();
      else fail();
    }
    at++;
    return text;
  }

  // \uXXXX, or two of them for one character, as UTF-8.
  std::string escaped() {
    unsigned code = hex();
    if (code >= 0xd800 && code < 0xdc00 && source.compare(at + 1, 2, "\\u") == 0) {
      at += 2;
      code = 0x10000 + ((code - 0xd800) << 10) + (hex() - 0xdc00);
    }
    const auto byte = [](unsigned value) { return static_cast<char>(value); };
    if (code < 0x80) return {byte(code)};
    if (code < 0x800) return {byte(0xc0 | code >> 6), byte(0x80 | (code & 0x3f))};
    if (code < 0x10000) return {byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 0x3f)), byte(0x80 | (code & 0x3f))};
    return {byte(0xf0 | code >> 18), byte(0x80 | (code >> 12 & 0x3f)), byte(0x80 | (code >> 6 & 0x3f)),
            byte(0x80 | (code & 0x3f))};
  }
  unsigned hex() {
    const std::string digits = source.substr(at + 1, 4);
    if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) fail();
    at += 4;
    return static_cast<unsigned>(std::strtoul(digits.c_str(), nullptr, 16));
  }
};

inline Json Json::parse(const std::string& source) { return JsonReader(source).whole(); }

// A text as a JSON string, with quotes.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') out += '\\';
    if (static_cast<unsigned char>(character) >= 0x20) {
      out += character;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", character);
    out += escape;
  }
  return out + "\"";
}

inline std::string numeral(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

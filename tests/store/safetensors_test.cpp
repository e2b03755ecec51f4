#include "ick/net/safetensors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "ick/base/error.h"
#include "ick/base/file.h"

namespace ick {
namespace {

using Texts = std::map<std::string, std::string>;

// A file put together by hand.
std::string file_of(const std::string& header, const std::string& numbers) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + numbers;
}

std::string refusal(const std::string& bytes) {
  try {
    parse_safetensors(bytes, "w.safetensors");
  } catch (const DataError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("w.safetensors: ", 0), 0u) << text;
    return text.substr(std::min(text.size(), std::string("w.safetensors: ").size()));
  }
  return "no error";
}

// read_safetensors.py compares what it finds in the file with the same numbers.
TEST(Safetensors, ForAnotherReader) {
  const at::Tensor index = at::arange(6, at::kDouble);
  const TensorState tensors = {
      {"flags", at::arange(5).remainder(3) == 0},
      {"single", (index / 7.0).to(at::kFloat).view({2, 3}).set_requires_grad(true)},
      {"b\u00fcschel \"x\"\n", index.sqrt().view({2, 3}).t()},
      {"half", at::tensor({-0.5, 1.25, 65504.0}).to(at::kHalf)},
      {"bfloat", at::tensor({-0.5, 1.25, 0x3p100}, at::kDouble).to(at::kBFloat16)},
      {"long", at::tensor({-(std::int64_t{1} << 62), (std::int64_t{1} << 40) + 1}).view({1, 2})},
      {"int", at::tensor({std::int32_t{-2147483647} - 1, std::int32_t{77}})},
      {"short", at::tensor({-32768, 77}).to(at::kShort)},
      {"char", at::tensor({-128, 77}).to(at::kChar)},
      {"byte", at::tensor({0, 200, 255}).to(at::kByte)},
      {"scalar", at::scalar_tensor(0.1, at::kDouble)},
      {"none", at::empty({2, 0, 3}, at::kFloat)},
  };
  const Texts metadata = {{"format", "ick"}, {"quote \"\u00e9\"", "two\nlines"}};
  const std::string bytes = safetensors_bytes(tensors, metadata);
  if (const char* path = std::getenv("ICK_SAFETENSORS")) write_file(path, bytes);

  Texts found_metadata = {{"left", "over"}};
  TensorState found;
  {
    const std::string copy = bytes;  // gone when the tensors are compared
    found = parse_safetensors(copy, "a", &found_metadata);
  }
  EXPECT_EQ(found_metadata, metadata);
  ASSERT_EQ(found.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(found[i].first, tensors[i].first);
    EXPECT_EQ(found[i].second.scalar_type(), tensors[i].second.scalar_type()) << tensors[i].first;
    EXPECT_TRUE(at::equal(found[i].second, tensors[i].second)) << tensors[i].first;
    EXPECT_FALSE(found[i].second.requires_grad());
  }
}

TEST(Safetensors, ByHand) {
  const std::string numbers("\1\2\3\0\0\0\xff\xff\xff\xff", 10);
  const std::string header =
      "{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
      "\"a\":{\"data_offsets\":[2,10],\"shape\":[2,1],\"dtype\":\"I32\"}}   ";
  const TensorState found = parse_safetensors(file_of(header, numbers), "a");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, "b");
  EXPECT_TRUE(at::equal(found[0].second, at::tensor({1, 2}).to(at::kByte)));
  EXPECT_EQ(found[1].first, "a");
  EXPECT_TRUE(at::equal(found[1].second, at::tensor({3, -1}).view({2, 1})));

  EXPECT_TRUE(parse_safetensors(file_of("{}", ""), "a").empty());
  EXPECT_EQ(safetensors_bytes({}), file_of("{}      ", ""));
  EXPECT_EQ(safetensors_bytes({{"a", at::tensor({3, -1}).to(at::kInt)}}),
            file_of("{\"a\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[0,8]}}  ", numbers.substr(2)));
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

TEST(Safetensors, RefusesBrokenHeaders) {
  EXPECT_EQ(refusal(""), "0 bytes are too few for a safetensors file; it may be cut off");
  EXPECT_EQ(refusal(std::string(7, 'x')), "7 bytes are too few for a safetensors file; it may be cut off");
  EXPECT_EQ(refusal(std::string(8, '\0')), "the header does not begin with \"{\"");
  EXPECT_EQ(refusal(std::string(8, '\xff')), "a header of 18446744073709551615 bytes (expected at most 100000000)");
  EXPECT_EQ(refusal(file_of("{}", "").substr(0, 9)), "a header of 2 bytes in a file with 1 more; it is cut off");
  EXPECT_EQ(refusal(file_of(" {}", "")), "the header does not begin with \"{\"");
  EXPECT_EQ(refusal(file_of("{\"a\":}", "")), "the header is not JSON from its byte 6 on");
  EXPECT_EQ(refusal(file_of("{} {}", "")), "the header is not JSON from its byte 4 on");
  EXPECT_NE(refusal(file_of("{\"\xff\":1}", "")).find("is not JSON"), std::string::npos);
  EXPECT_NE(refusal(file_of("{\"a\":1e999}", "")).find("is not JSON"), std::string::npos);
  EXPECT_NE(refusal(file_of("{\"a\":" + std::string(100000, '['), "")).find("is not JSON"), std::string::npos);
  EXPECT_EQ(refusal(file_of("{\"__metadata__\":{\"a\":1}}", "")), "\"__metadata__\": \"a\" is not a text");
  EXPECT_EQ(refusal(file_of("{\"__metadata__\":[]}", "")), "\"__metadata__\" is not an object");
}

TEST(Safetensors, RefusesWrongEntries) {
  const std::string numbers(8, '\1');
  const auto of = [&](const std::string& inside) { return refusal(file_of("{" + inside + "}", numbers)); };
  EXPECT_EQ(of(entry("a", "F64", "[1]", "[0,8]")), "no error");
  EXPECT_EQ(of(entry("a", "F64", "[1]", "[0,8]") + "," + entry("a", "F64", "[0]", "[0,0]")),
            "the header has \"a\" twice");
  EXPECT_EQ(of("\"a\":{\"dtype\":\"F64\",\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}"),
            "the header has \"dtype\" twice");
  EXPECT_EQ(of("\"a\":7"), "tensor \"a\": the header gives no dtype");
  EXPECT_EQ(of("\"a\":{\"dtype\":\"F64\",\"shape\":[1]}"), "tensor \"a\": the header gives no data_offsets");
  EXPECT_EQ(of(entry("a", "F63", "[1]", "[0,8]")),
            "tensor \"a\": dtype \"F63\" is not known (expected one of F64, F32, F16, BF16, I64, I32, I16, I8, U8 and "
            "BOOL)");
  EXPECT_EQ(of(entry("a", "F64", "1", "[0,8]")), "tensor \"a\": shape is not a list");
  for (const char* size : {"-1", "1.0", "\"1\"", "null", "[1]", "1e0", "99999999999999999999"})
    EXPECT_EQ(of(entry("a", "F64", std::string("[") + size + "]", "[0,8]")),
              "tensor \"a\": shape holds something else than whole numbers from 0");
  for (const char* offsets : {"[0]", "[0,8,8]", "[8,0]", "[]"})
    EXPECT_EQ(of(entry("a", "F64", "[1]", offsets)), "tensor \"a\": data_offsets is not a pair [begin, end]");
  EXPECT_EQ(of(entry("a", "F64", "[2]", "[0,16]")),
            "tensor \"a\": its numbers end at byte 16 of 8; the file is cut off or damaged");
  EXPECT_EQ(of(entry("a", "F64", "[1]", "[18446744073709551608,18446744073709551615]")),
            "tensor \"a\": its numbers end at byte 18446744073709551615 of 8; the file is cut off or damaged");
  EXPECT_EQ(of(entry("a", "F32", "[3]", "[0,8]")), "tensor \"a\": 8 bytes of numbers, but its shape and dtype take 12");
  for (const char* shape : {"[4294967296,4294967296]", "[9223372036854775808]", "[18446744073709551615]",
                            "[4611686018427387904,4611686018427387904,0]", "[0,4294967296,4294967296]"})
    EXPECT_EQ(of(entry("a", "F64", shape, "[0,0]")), "tensor \"a\": the shape is too large");
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_EQ(of(entry("a", "F64", ones + "]", "[0,8]")), "tensor \"a\": 65 dimensions (expected at most 64)");
  EXPECT_EQ(of(entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", "[2,6]")),
            "tensor \"b\": its numbers begin at byte 2 and overlap byte 4, where those before it end");
  EXPECT_EQ(of(entry("a", "U8", "[3]", "[0,3]") + "," + entry("b", "F32", "[1]", "[4,8]")),
            "tensor \"b\": its numbers begin at byte 4 and leave a gap after byte 3, where those before it end");
  EXPECT_EQ(of(entry("a", "F32", "[1]", "[0,4]")), "8 bytes of numbers, of which the header names 4");
  EXPECT_EQ(of(""), "8 bytes of numbers, of which the header names 0");
  EXPECT_EQ(refusal(file_of("{" + entry("a", "BOOL", "[2]", "[0,2]") + "}", "\1\2")),
            "tensor \"a\": a BOOL is neither 0 nor 1");
}

TEST(Safetensors, RefusesToWrite) {
  const at::Tensor one = at::ones({1});
  EXPECT_THROW(safetensors_bytes({{"a", one}, {"a", one}}), UsageError);
  EXPECT_THROW(safetensors_bytes({{"__metadata__", one}}), UsageError);
  EXPECT_THROW(safetensors_bytes({{"a", at::Tensor()}}), UsageError);
  EXPECT_THROW(safetensors_bytes({{"a", at::ones({1}, at::kComplexFloat)}}), UsageError);
  EXPECT_THROW(safetensors_bytes({{"\xff", one}}), UsageError);
  EXPECT_THROW(safetensors_bytes({{"a", one}}, {{"a", "\xff"}}), UsageError);
}

// Whatever one byte becomes, and wherever the file is cut, the answer is a refusal or tensors of the same sizes.
TEST(Safetensors, AnyDamage) {
  const TensorState tensors = {{"w", at::rand({2, 3}, at::kDouble)}, {"m", at::tensor({1, 0, 1}).to(at::kBool)}};
  const std::string bytes = safetensors_bytes(tensors, {{"k", "v"}});
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(refusal(bytes.substr(0, size)), "no error") << size;
  EXPECT_NE(refusal(bytes + '\0'), "no error");

  const std::size_t numbers = bytes.size() - 6 * 8 - 3;
  int read = 0, refused = 0;
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string damaged = bytes;
      damaged[place] = static_cast<char>(damaged[place] ^ flip);
      TensorState found;
      try {
        found = parse_safetensors(damaged, "a");
      } catch (const DataError&) {
        ++refused;
        EXPECT_FALSE(place >= numbers && place + 3 < bytes.size()) << "any bytes are a double; place " << place;
        continue;
      }
      ++read;
      ASSERT_EQ(found.size(), 2u) << place;
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(found[i].second.sizes(), tensors[i].second.sizes()) << place;
        EXPECT_EQ(found[i].second.nbytes(), tensors[i].second.nbytes()) << place;
        EXPECT_EQ(found[i].second.storage().nbytes(), found[i].second.nbytes()) << place;
      }
    }
  }
  EXPECT_GE(read, 6 * 8 * 255);
  EXPECT_GE(refused, 8 * 255);
}

}  // namespace
}  // namespace ick

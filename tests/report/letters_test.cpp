#include "report/letters.h"

#include <gtest/gtest.h>

#include <string>

#include "ick/base/text.h"
#include "report/sha256.h"

namespace ick::detail {
namespace {

const std::string kUnknown = "\xEF\xBF\xBD";

TEST(Letters, AreClean) {
  EXPECT_EQ(clean("caf\xC3\xA9 \xE6\x97\xA5"), "caf\xC3\xA9 \xE6\x97\xA5");
  EXPECT_EQ(clean("a\tb\nc\r"), "a b c ");
  EXPECT_EQ(clean("a\nb\x1B[31m", true), "a\nb" + kUnknown + "[31m");
  EXPECT_EQ(clean(std::string("a\0b", 3)), "a" + kUnknown + "b");
  EXPECT_EQ(clean("\xFF\xC3("), kUnknown + kUnknown + "(");
  EXPECT_EQ(clean("\xE2\x80\xAEgpj.exe"), kUnknown + "gpj.exe");  // right-to-left override
  EXPECT_EQ(clean("\xC2\x9B\xEF\xBF\xBF\xED\xA0\x80"), kUnknown + kUnknown + kUnknown + kUnknown + kUnknown);
  EXPECT_EQ(clean("\xD7\xA9\xD7\x9C"), "\xD7\xA9\xD7\x9C");
}

TEST(Letters, OfAnyBytesBecomeText) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second), 'x'};
      const std::string text = clean(bytes);
      EXPECT_TRUE(is_utf8(text) && text.back() == 'x') << first << " " << second;
    }
  }
}

TEST(Letters, AreEscaped) {
  EXPECT_EQ(escaped("<a href=\"x\" title='y'>&amp;</a>"),
            "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;");
}

TEST(Letters, AreCutAtWholeOnes) {
  EXPECT_EQ(cut_to_columns("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_columns("abcdef", 5), "abcd\xE2\x80\xA6");
  EXPECT_EQ(cut_to_columns("\xC3\xA9\xC3\xA9\xC3\xA9", 2), "\xC3\xA9\xE2\x80\xA6");
  EXPECT_EQ(column_count("\xE6\x97\xA5\xE6\x9C\xAC e\xCC\x81"), 6u);  // two wide ones; an accent above e
  EXPECT_EQ(cut_to_columns("\xE6\x97\xA5\xE6\x9C\xAC", 3), "\xE6\x97\xA5\xE2\x80\xA6");  // wide ones
  for (double width = 12.0; width < 90.0; width += 7.0) {
    const std::string cut = cut_to_width("what a table may contain", 12.0, width);
    EXPECT_LE(text_width(cut, 12.0), width);
  }
}

// Widths of DejaVu Sans at 1000 units, from its hmtx table by fc-query and hb-shape: no text is wider than we say.
TEST(Letters, AreAsWideAsTheyAre) {
  EXPECT_GE(text_width("0123456789", 100.0), 636.0 * 0.97);
  EXPECT_GE(text_width("pm25 (ug/m3)", 100.0),
            0.1 * (635 + 974 + 636 + 636 + 318 + 390 + 634 + 635 + 337 + 974 + 636 + 390) * 0.95);
  EXPECT_LE(text_width("pm25 (ug/m3)", 100.0),
            0.1 * (635 + 974 + 636 + 636 + 318 + 390 + 634 + 635 + 337 + 974 + 636 + 390) * 1.15);
}

// FIPS 180-4's examples and lengths about the end of a block; hashlib.sha256(text).digest() in base64.
TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_base64(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
  EXPECT_EQ(sha256_base64("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  EXPECT_EQ(sha256_base64(std::string(55, 'q')), "hVKLW6/1Y5y459rKedCFrCmsCXjoc+11JxWGFrK2w3k=");
  EXPECT_EQ(sha256_base64(std::string(56, 'q')), "+M4vjWmQxjlmj+QEJi817XLYuxRa1rrnhq9yhERzht8=");
  EXPECT_EQ(sha256_base64(std::string(63, 'q')), "m0l3cAOkFD2MP00wAutjHGvaiwMKPMyH+KIdX2HInoc=");
  EXPECT_EQ(sha256_base64(std::string(64, 'q')), "7o5lhZDJpeEZQAp3RBWgHbEE3h7m4sKexpqnPvRlRNI=");
  EXPECT_EQ(sha256_base64(std::string(119, 'q')), "yLyKbpYmWGu4iK0THUTtK9N/xgjpApBK3jxWbEII5so=");
  EXPECT_EQ(sha256_base64(std::string(120, 'q')), "d6LUnXKhHkFnjFH48Mtn9ctXDzA3DDrv/iZqDR7kMgk=");
  EXPECT_EQ(sha256_base64(std::string(1000, 'q')), "Lmu6Hzz0j+RfocVuJbR/tiLd5Q66HhfgpyRk4yv0q0E=");
}

}  // namespace
}  // namespace ick::detail

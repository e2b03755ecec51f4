#include "ick/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <typeinfo>

#include "ick/base/error.h"

namespace ick {
namespace {

namespace fs = std::filesystem;

// The standard library's view of a file, to compare ours with.
std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::set<std::string> names_in(const fs::path& folder) {  // hidden ones too
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

using Names = std::set<std::string>;

// A folder of these tests: files named as here, and in the one named mark a number, or "old", "new" and the like.
const FolderKind kMarked{"mark",
                         [](const std::string& name) {
                           return Names{"mark", "left", "other", "only", "weights"}.contains(name);
                         },
                         [](const std::string& path) { return !content(path).starts_with("not ours"); }};

template <typename Wanted, typename Action>
std::string said(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(typeid(error), typeid(Wanted)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

std::string bytes_of(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 131 + i / 256);
  return bytes;
}

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ick-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string at(const std::string& name) const { return (root_ / name).string(); }

  fs::path root_;
};

TEST_F(FileTest, RoundTripOfAnyBytes) {
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 1000003}) {
    const std::string bytes = bytes_of(size);
    write_file(at("a.bin"), bytes);
    EXPECT_EQ(content(at("a.bin")), bytes) << size;
    EXPECT_EQ(read_file(at("a.bin")), bytes) << size;
  }
  EXPECT_EQ(names_in(root_), Names{"a.bin"});
}

TEST_F(FileTest, NamesAsLongAsTheSystemAllows) {
  const std::string name(255, 'n');
  write_file(at(name), "long");
  EXPECT_EQ(content(at(name)), "long");
  StagedFolder(at(std::string(255, 'm')), kMarked).commit();
  EXPECT_TRUE(fs::is_directory(at(std::string(255, 'm'))));
}

TEST_F(FileTest, NothingBeforeCommitAndNothingWithout) {
  put(at("p.csv"), "old");
  {
    StagedFile file(at("p.csv"));
    file.write("one,");
    EXPECT_EQ(content(at("p.csv")), "old");
    const Names names = names_in(root_);
    ASSERT_EQ(names.size(), 2u);
    EXPECT_EQ(names.begin()->rfind(".p.csv.part-" + std::to_string(::getpid()) + "-", 0), 0u) << *names.begin();
  }
  EXPECT_EQ(content(at("p.csv")), "old");
  EXPECT_EQ(names_in(root_), Names{"p.csv"});

  StagedFile file(at("p.csv"));
  file.write("one,");
  file.write("two\n");
  file.commit();
  EXPECT_EQ(content(at("p.csv")), "one,two\n");
  EXPECT_EQ(names_in(root_), Names{"p.csv"});
}

TEST_F(FileTest, PermissionsFollowTheUmask) {
  for (const unsigned mask : {0022u, 0077u, 0000u}) {
    const mode_t before = ::umask(mask);
    write_file(at("file"), "x");
    StagedFolder folder(at("folder"), kMarked);
    folder.write("mark", "x");
    folder.commit();
    ::umask(before);
    const auto mode = [](const std::string& path) { return static_cast<unsigned>(fs::status(path).permissions()); };
    EXPECT_EQ(mode(at("file")), 0644 & ~mask);
    EXPECT_EQ(mode(at("folder")), 0755 & ~mask);
    EXPECT_EQ(mode(at("folder/mark")), 0644 & ~mask);
  }
}

TEST_F(FileTest, ReadingSaysWhy) {
  put(at("data.csv"), "a\n1\n");
  EXPECT_EQ(said<DataError>([&] { read_file(at("dta.csv")); }),
            "cannot read \"" + at("dta.csv") + "\": No such file or directory; did you mean \"data.csv\"?");
  EXPECT_EQ(said<DataError>([&] { read_file(at("none/x")); }),
            "cannot read \"" + at("none/x") + "\": No such file or directory");
  EXPECT_EQ(said<DataError>([&] { read_file(root_.string()); }),
            "cannot read \"" + root_.string() + "\": Is a directory");
}

TEST_F(FileTest, WritingSaysWhy) {
  fs::create_directory(at("folder"));
  put(at("file"), "x");
  EXPECT_EQ(said<Error>([&] { write_file(at("folder"), "x"); }),
            "cannot write \"" + at("folder") + "\": Is a directory; give the name of a file");
  EXPECT_EQ(said<Error>([&] { write_file(at("none/p.csv"), "x"); }),
            "cannot write \"" + at("none/p.csv") + "\": No such file or directory; make the folder \"" + at("none") +
                "\" first or give another place");
  EXPECT_EQ(said<Error>([&] { write_file(at("file/p.csv"), "x"); }),
            "cannot write \"" + at("file/p.csv") + "\": Not a directory; give another place");
  EXPECT_NE(said<Error>([&] { write_file("", "x"); }).find("No such file or directory"), std::string::npos);
  EXPECT_EQ(names_in(root_), (Names{"file", "folder"}));
}

TEST_F(FileTest, DevicesAndPipesAreWrittenToAsTheyAre) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(said<Error>([] { write_file("/dev/full", "x"); }),
            "cannot write \"/dev/full\": No space left on device; free some space or give another place");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));

  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  const std::string bytes = bytes_of(200001);
  std::string received;
  std::thread reader([&] { received = read_file(at("pipe")); });
  write_file(at("pipe"), bytes);
  reader.join();
  EXPECT_EQ(received, bytes);
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

TEST_F(FileTest, LinksStay) {
  fs::create_directory(at("v3"));
  put(at("v3/left"), "old");
  put(at("v3/mark"), "");
  fs::create_symlink("v3/left", at("link"));
  fs::create_symlink("v3", at("latest"));
  write_file(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(content(at("v3/left")), "new");
  StagedFolder folder(at("latest"), kMarked);
  folder.write("only", "x");
  folder.commit();
  EXPECT_TRUE(fs::is_symlink(at("latest")));
  EXPECT_EQ(names_in(at("v3")), Names{"only"});
  EXPECT_EQ(names_in(root_), (Names{"latest", "link", "v3"}));
}

TEST_F(FileTest, FolderAppearsWhole) {
  {
    StagedFolder folder(at("model/"), kMarked);
    EXPECT_EQ(names_in(root_), Names{});
    folder.write("mark", "1");
    put(folder.file("other"), "2");
    EXPECT_FALSE(fs::exists(at("model")));
  }
  EXPECT_EQ(names_in(root_), Names{});

  StagedFolder folder(at("model"), kMarked);
  folder.write("mark", "1");
  put(folder.file("other"), "2");
  folder.commit();
  EXPECT_EQ(names_in(root_), Names{"model"});
  EXPECT_EQ(content(at("model/mark")), "1");
  EXPECT_EQ(content(at("model/other")), "2");
}

TEST_F(FileTest, FolderReplacesAnOlderOneOrAnEmptyOne) {
  fs::create_directories(at("model"));
  put(at("model/mark"), "old");
  put(at("model/left"), "old");
  fs::create_directory(at("empty"));
  for (const char* name : {"model", "empty"}) {
    StagedFolder folder(at(name), kMarked);
    folder.write("mark", "new");
    folder.commit();
    EXPECT_EQ(names_in(at(name)), Names{"mark"});
    EXPECT_EQ(content(at(name) + "/mark"), "new");
  }
  EXPECT_EQ(names_in(root_), (Names{"empty", "model"}));
}

TEST_F(FileTest, FolderRefusesWhatIsNotItsOwn) {
  fs::create_directory(at("photos"));
  put(at("photos/cat"), "cat");
  put(at("notes"), "text");
  EXPECT_EQ(said<UsageError>([&] { StagedFolder(at("photos"), kMarked); }),
            "the folder \"" + at("photos") +
                "\" holds \"cat\", which ick did not write, so it is not replaced; give another place or move it");
  EXPECT_EQ(said<UsageError>([&] { StagedFolder(at("notes"), kMarked); }),
            "\"" + at("notes") + "\" is a file, and a folder is to be written; give another place");
  EXPECT_NE(said<Error>([&] { StagedFolder(at("none/model"), kMarked); }).find("No such file or directory"),
            std::string::npos);
  for (const char* name : {"", ".", "..", "/", "a/.."}) said<UsageError>([&] { StagedFolder(name, kMarked); });

  // Filled by somebody else meanwhile: still refused, and the other's file is kept.
  StagedFolder folder(at("model"), kMarked);
  folder.write("mark", "1");
  fs::create_directory(at("model"));
  put(at("model/theirs"), "theirs");
  said<UsageError>([&] { folder.commit(); });
  EXPECT_EQ(names_in(at("model")), Names{"theirs"});
}

// One foreign entry is enough, whatever its name and kind, and nothing of the folder is touched.
TEST_F(FileTest, FolderWithAnythingElseInItIsRefused) {
  const auto make = [&](const std::string& name) {
    fs::create_directory(at(name));
    put(at(name + "/mark"), "old");
    put(at(name + "/other"), "old");
    return at(name);
  };
  const auto refusal = [&](const std::string& folder, const std::string& entry) {
    return "the folder \"" + folder + "\" holds \"" + entry +
           "\", which ick did not write, so it is not replaced; give another place or move it";
  };
  const std::string notes = make("notes"), git = make("git"), link = make("link"), named = make("named");
  put(notes + "/thesis.txt", "years of work");
  fs::create_directory(git + "/.git");
  put(at("table.csv"), "a\n1\n");
  fs::create_symlink(at("table.csv"), link + "/left");
  fs::create_directory(named + "/weights");  // a folder by the name of a file
  for (const auto& [folder, entry] :
       {std::pair{notes, "thesis.txt"}, {git, ".git"}, {link, "left"}, {named, "weights"}}) {
    const Names before = names_in(folder);
    EXPECT_EQ(said<UsageError>([&] { StagedFolder(folder, kMarked); }), refusal(folder, entry));
    EXPECT_EQ(names_in(folder), before);
  }
  // By content: a file of the right name that somebody else wrote, and files of the right names without it.
  const std::string content_of_another = make("another");
  put(content_of_another + "/mark", "not ours");
  const std::string without = make("without");
  fs::remove(without + "/mark");
  for (const std::string& folder : {content_of_another, without}) {
    EXPECT_EQ(said<UsageError>([&] { StagedFolder(folder, kMarked); }),
              "the folder \"" + folder +
                  "\" has no \"mark\" that ick wrote, so it is not replaced; give another place or move it");
  }
  // The kind that is never replaced.
  const std::string whole = make("whole");
  EXPECT_EQ(said<UsageError>([&] { StagedFolder(whole, {}); }), refusal(whole, "mark"));
  EXPECT_EQ(names_in(root_), (Names{"another", "git", "link", "named", "notes", "table.csv", "whole", "without"}));
}

// Put into the older folder behind the program's back, after it has looked for the last time.
TEST_F(FileTest, WhatComesAtTheLastMomentStays) {
  for (const char* const name : {"first", "second"}) {
    const std::string folder = at(name);
    fs::create_directory(folder);
    put(folder + "/mark", "old");
    put(folder + "/left", "old");
    int looks = 0;
    FolderKind kind = kMarked;
    kind.is_own = [&](const std::string&) {
      if (++looks == 2) put(folder + "/theirs", "theirs");
      return true;
    };
    if (name == std::string("second")) put(at("second.old"), "a file that is there already");
    const std::string kept = folder + (name == std::string("second") ? ".old2" : ".old");
    StagedFolder staged(folder, kind);
    staged.write("mark", "new");
    EXPECT_EQ(said<Error>([&] { staged.commit(); }),
              "\"" + folder + "\" is written; the older folder, in which there is still \"theirs\", is kept as \"" +
                  kept + "\"");
    EXPECT_EQ(looks, 2);
    EXPECT_EQ(names_in(folder), Names{"mark"});
    EXPECT_EQ(content(folder + "/mark"), "new");
    EXPECT_EQ(names_in(kept), Names{"theirs"});
    EXPECT_EQ(content(kept + "/theirs"), "theirs");
  }
  EXPECT_EQ(names_in(root_), (Names{"first", "first.old", "second", "second.old", "second.old2"}));
}

// What changes the whole process is done in a child, whose exit code tells whether its expectations held.
template <typename Action>
void in_child(Action action) {
  EXPECT_EXIT(
      {
        action();
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(FileTest, LimitOfFileSizeLeavesNothingBehind) {
  put(at("p.csv"), "old");
  fs::create_directory(at("model"));
  put(at("model/mark"), "old");
  in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_EQ(said<Error>([&] { write_file(at("p.csv"), bytes_of(100001)); }),
              "cannot write \"" + at("p.csv") + "\": File too large; give another place");
    EXPECT_EQ(said<Error>([&] {
                StagedFolder folder(at("model"), kMarked);
                folder.write("mark", "new");
                folder.write("weights", bytes_of(100001));
                folder.commit();
              }),
              "cannot write \"" + at("model/weights") + "\": File too large; give another place");
  });
  EXPECT_EQ(content(at("p.csv")), "old");
  EXPECT_EQ(content(at("model/mark")), "old");
  EXPECT_EQ(names_in(root_), (Names{"model", "p.csv"}));
}

TEST_F(FileTest, FullDiskLeavesNothingBehind) {
  // A disk of 64 kB that only the child sees; where that is not allowed, the limit of file size above stands in.
  const auto mount_small_disk = [&] {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("tmpfs", root_.c_str(), "tmpfs", 0, "size=64k") == 0;
  };
  const pid_t probe = ::fork();
  if (probe == 0) ::_exit(mount_small_disk() ? 0 : 1);
  int status = 1;
  ASSERT_EQ(::waitpid(probe, &status, 0), probe);
  if (status != 0) GTEST_SKIP() << "mounting is not allowed here";
  in_child([&] {
    ASSERT_TRUE(mount_small_disk());
    put(at("p.csv"), "old");
    EXPECT_EQ(said<Error>([&] { write_file(at("p.csv"), bytes_of(100000)); }),
              "cannot write \"" + at("p.csv") + "\": No space left on device; free some space or give another place");
    said<Error>([&] {
      StagedFolder folder(at("model"), kMarked);
      folder.write("weights", bytes_of(100000));
    });
    EXPECT_EQ(content(at("p.csv")), "old");
    EXPECT_EQ(names_in(root_), Names{"p.csv"});
  });
}

TEST_F(FileTest, WithoutPermission) {
  fs::create_directory(at("locked"));
  put(at("locked/p.csv"), "old");
  put(at("protected"), "old");
  fs::permissions(at("locked"), fs::perms{0555});
  fs::permissions(at("protected"), fs::perms{0444});
  fs::permissions(root_, fs::perms{0755});
  in_child([&] {
    if (::getuid() == 0) {  // root may do anything: be nobody
      ASSERT_EQ(::setresuid(65534, 65534, 65534), 0);
    }
    const std::string why = "\": Permission denied; give a place you may write to";
    EXPECT_EQ(said<Error>([&] { write_file(at("locked/p.csv"), "x"); }), "cannot write \"" + at("locked/p.csv") + why);
    EXPECT_EQ(said<Error>([&] { write_file(at("protected"), "x"); }), "cannot write \"" + at("protected") + why);
    EXPECT_EQ(said<Error>([&] { StagedFolder(at("locked/model"), kMarked); }),
              "cannot write \"" + at("locked/model") + why);
  });
  fs::permissions(at("locked"), fs::perms{0755});
  EXPECT_EQ(names_in(at("locked")), Names{"p.csv"});
  EXPECT_EQ(content(at("locked/p.csv")), "old");
  EXPECT_EQ(content(at("protected")), "old");
}

TEST_F(FileTest, FileSystemThatCannotExchange) {
  fs::create_directory(at("model"));
  put(at("model/mark"), "old");
  put(at("model/left"), "old");
  in_child([&] {
    // From here on the kernel answers renameat2 with "invalid argument", as file systems without exchange do.
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    ASSERT_EQ(::renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE), -1);
    ASSERT_EQ(errno, EINVAL);
    StagedFolder folder(at("model"), kMarked);
    folder.write("mark", "new");
    folder.commit();
  });
  EXPECT_EQ(names_in(at("model")), Names{"mark"});
  EXPECT_EQ(content(at("model/mark")), "new");
  EXPECT_EQ(names_in(root_), Names{"model"});
}

TEST_F(FileTest, ReadersNeverMissTheFolderNorTheFile) {
  const auto save = [&](const std::string& text) {
    write_file(at("p.csv"), text + text);
    StagedFolder folder(at("model"), kMarked);
    folder.write("mark", text);
    folder.commit();
  };
  save("0000");
  std::atomic<bool> done = false;
  int missed = 0, torn = 0;
  std::thread reader([&] {
    while (!done) {
      if (!fs::exists(at("model"))) ++missed;
      const std::string text = content(at("p.csv"));
      if (text.size() != 8 || text.substr(0, 4) != text.substr(4)) ++torn;
    }
  });
  for (int i = 1000; i < 1050; ++i) save(std::to_string(i));
  done = true;
  reader.join();
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(content(at("model/mark")), "1049");
}

}  // namespace
}  // namespace ick

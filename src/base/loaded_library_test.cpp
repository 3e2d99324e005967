#include "base/loaded_library.hpp"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

using OneToOne = double (*)(double);

TEST(LoadedLibrary, GivesItsFunctionsAndSaysWhereTheyAre) {
  LoadedLibrary library("libm.so.6");
  ASSERT_TRUE(library.is_there()) << library.why();
  OneToOne root = nullptr;
  ASSERT_TRUE(library.find("sqrt", root));
  EXPECT_EQ(root(9.0), 3.0);
  EXPECT_NE(file_of(reinterpret_cast<const void*>(root)).find("libm.so.6"), std::string::npos);
}

TEST(LoadedLibrary, RemembersWhatWasNotFoundFirst) {
  LoadedLibrary library("libm.so.6");
  OneToOne function = nullptr;
  EXPECT_FALSE(library.find("no_such_function", function));
  EXPECT_EQ(function, nullptr);
  EXPECT_FALSE(library.find("cbrt", function)) << "it is not whole";
  EXPECT_NE(function, nullptr);
  EXPECT_NE(library.why().find("no_such_function"), std::string::npos) << library.why();
}

TEST(LoadedLibrary, ThatIsNotThereSaysWhy) {
  LoadedLibrary library("libnosuchlibrary.so.7");
  EXPECT_FALSE(library.is_there());
  OneToOne function = nullptr;
  EXPECT_FALSE(library.find("cbrt", function)) << "not one of the program's own";
  EXPECT_EQ(function, nullptr);
  EXPECT_NE(library.why().find("libnosuchlibrary.so.7"), std::string::npos) << library.why();
}

} // namespace
} // namespace heddle::base

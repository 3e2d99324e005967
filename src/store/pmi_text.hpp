// What launchers say by PMI, taken apart. Pure; what they say it on is in pmi.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::store {

// The words of an answer by name: servers put them in any order.
using PmiFields = std::map<std::string, std::string, std::less<>>;
// "cmd=get_result rc=0 value=x" between spaces (version 1), "cmd=kvs-get-response;rc=0;value=x;" between semicolons (version 2).
PmiFields pmi_fields(std::string_view text, char separator);
// The nodes of all ranks, from "(vector,(0,1,2),(1,1,1))": first node, how many nodes, ranks on each; it begins anew where it is
// short. Empty where the text is none.
std::vector<std::uint32_t> pmi_nodes(std::string_view mapping, std::uint32_t size);

} // namespace heddle::store

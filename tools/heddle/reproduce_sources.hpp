// The reports that figures and parameters name by a number.
#pragma once

#include <array>
#include <string_view>

namespace heddle::tool {

struct ReportSource {
  std::string_view number;
  std::string_view text;
};

// As docs/reproduction.md has them.
inline constexpr std::array kReportSources{
    ReportSource{"000",
                 "A. Naruse, K. Nakashima, S. Sumimoto, K. Kumon: Performance evaluation of all-to-all communication "
                 "on PC cluster systems with multi-stage InfiniBand networks (in Japanese)"},
    ReportSource{"001",
                 "N. Yamaguchi, M. Hatanaka, M. Takagi, A. Hori, Y. Ishikawa: Design and implementation of a portable "
                 "communication library for high performance computing (in Japanese)"},
    ReportSource{"002",
                 "A. Naruse, K. Nakashima, S. Sumimoto, K. Kumon: Proposal of hot-spot avoidance technique on "
                 "all-to-all communication in fat-tree based InfiniBand networks (abstract, listing and two tables)"},
    ReportSource{"003",
                 "M. Hatanaka, A. Hori, Y. Ishikawa: RDMA scheduling for MPI communication, IPSJ SIG technical report "
                 "2013-HPC-140, no. 17 (in Japanese)"},
    ReportSource{"004",
                 "J. Yamamoto, O. Tatebe, T. Yokoyama, J. Tsuchiya, T. Miyawaki, T. Shimizu, H. Amano, T. Kudoh: "
                 "Implementation and evaluation of RHiNET-1, a network for LASN (in Japanese)"},
};

} // namespace heddle::tool

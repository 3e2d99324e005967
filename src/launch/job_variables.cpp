#include "launch/job_variables.hpp"

#include <algorithm>

namespace heddle::launch {

namespace {

using Variable = base::Environment::Variable;

bool holds(const Variables& variables, const std::string& name) {
  return std::ranges::find(variables, name, &Variable::first) != variables.end();
}

// By which a process would take itself for one of a job that an outer launcher has started. This one is inside of that.
bool of_another_launcher(const std::string& name) {
  for (const char* begin : {"PMI_", "PMIX_", "OMPI_COMM_WORLD_", "MPI_LOCAL"})
    if (name.starts_with(begin)) return true;
  return false;
}

} // namespace

Variables job_variables(std::uint32_t size, const std::string& job, const std::string& store,
                        const auth::Secret& secret) {
  return {{"HEDDLE_SIZE", std::to_string(size)},
          {"HEDDLE_JOB", job},
          {"HEDDLE_STORE", store},
          {std::string(auth::kSecretVariable), secret.text()}};
}

Variables with_variables(const Variables& given) {
  Variables result;
  const base::Environment inherited = base::Environment::of_process();
  for (const Variable& variable : inherited.variables())
    if (variable.first != "HEDDLE_RANK" && !of_another_launcher(variable.first) && !holds(given, variable.first))
      result.push_back(variable);
  result.insert(result.end(), given.begin(), given.end());
  return result;
}

Variables passed_on(const std::vector<std::string>& names) {
  Variables result;
  const base::Environment own = base::Environment::of_process();
  for (const Variable& variable : own.variables()) {
    const std::string& name = variable.first;
    const bool told = name == "HEDDLE_RANK" || name == "HEDDLE_NODE";
    if (!told && (name.starts_with("HEDDLE_") || std::ranges::find(names, name) != names.end()))
      result.push_back(variable);
  }
  return result;
}

} // namespace heddle::launch

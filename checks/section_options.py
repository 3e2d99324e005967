"""Reads what translators declare in src/translators/NAME/options.hpp, for checks/options and checks/docs."""
import re


def literals(text):
    """The string literals of a piece of C++, neighbours joined."""
    joined = re.sub(r'"\s*\n\s*"', "", text)
    return re.findall(r'"((?:[^"\\]|\\.)*)"', joined)


def declared_options(root):
    """For each translator with options: the file, the section and the declarations, members by name."""
    for path in sorted((root / "src/translators").glob("**/options.hpp")):
        options = []
        for constant, body in re.findall(r"base::SectionOption (k\w+)\{(.*?)\};", path.read_text(), re.S):
            members = {name: literals(value)[0] if '"' in value else value.strip()
                       for name, value in re.findall(r"\.(\w+) = (.*?)(?=,\s*\.\w+ = |$)", body, re.S)}
            options.append(members | {"constant": constant})
        yield path, path.parent.name, options


def listed_constants(path):
    found = re.search(r"kOptions\{([^}]*)\}", path.read_text())
    return re.findall(r"k\w+", found[1]) if found else []

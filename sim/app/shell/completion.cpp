// Completion of the command line in a shell.
#include <fmt/format.h>

#include <ostream>

#include "models/spec/shipped.hpp"
#include "sim/app/help_text.hpp"
#include "sim/app/shell/shell.hpp"

namespace accosim {
namespace {

/// What a value may be.
struct Candidates {
  Texts words;
  bool files = false;
};

Candidates candidates_of(const Option& option, const std::vector<Verb>& verbs) {
  Candidates candidates{option.choices, option.takes == "FILE" || option.takes == "FOLDER"};
  if (option.takes == "VERB") candidates.words = names_of(verbs);
  for (const auto& [takes, kind] : {std::pair("SCENARIO", FileKind::kScenario),
                                    std::pair("CLUSTER", FileKind::kCluster), std::pair("DEVICE", FileKind::kDevice)}) {
    if (option.takes != takes) continue;
    candidates.files = true;
    for (const ShippedFile& file : shipped_files(kind)) candidates.words.push_back(file.name);
  }
  return candidates;
}

std::string line_of(const Texts& words) { return fmt::format("{}", fmt::join(words, " ")); }

/// "-o" and "--output".
Texts spellings(const Option& option) {
  const std::size_t comma = option.names.find(',');
  if (comma == std::string::npos) return {option.names};
  return {option.names.substr(0, comma), option.names.substr(comma + 1)};
}

bool takes_value(const Option& option) { return !is_positional(option) && !std::holds_alternative<bool>(option.value); }

// ---- bash ----

void write_bash_values(std::ostream& out, const std::string& path, const Verb& verb, const std::vector<Verb>& verbs) {
  for (const Option& option : verb.options) {
    if (!takes_value(option)) continue;
    std::string pattern;
    for (const std::string& name : spellings(option))
      pattern += fmt::format("{}'{} {}'", pattern.empty() ? "" : " | ", path, name);
    const Candidates candidates = candidates_of(option, verbs);
    out << fmt::format("    {}) words='{}'; files={} ;;\n", pattern, line_of(candidates.words),
                       candidates.files ? "yes" : "");
  }
}

void write_bash_verb(std::ostream& out, const std::string& path, const Verb& verb, const std::vector<Verb>& verbs) {
  Texts words = names_of(verb.verbs);
  bool files = false;
  for (const Option& option : verb.options) {
    if (!is_positional(option)) continue;
    const Candidates candidates = candidates_of(option, verbs);
    words.insert(words.end(), candidates.words.begin(), candidates.words.end());
    files |= candidates.files;
  }
  Texts flags;
  for (const Option& option : verb.options)
    if (!is_positional(option))
      for (std::string& name : spellings(option)) flags.push_back(std::move(name));
  flags.emplace_back("--help");
  out << fmt::format("    '{}') words='{}'; files={}; flags='{}' ;;\n", path, line_of(words), files ? "yes" : "",
                     line_of(flags));
}

void write_bash(std::ostream& out, const std::vector<Verb>& verbs) {
  const auto all = by_path(verbs);
  out << R"(# Completion of accosim for bash, written by `accosim completion bash`. Source it, or put it into
# ~/.local/share/bash-completion/completions/accosim.
_accosim() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb='' words='' files='' flags='' i
  if [ "$word" = = ]; then
    word=''
  elif [ "$before" = = ] && [ "$COMP_CWORD" -gt 2 ]; then # --option=value is three words
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${verb:+$verb }${COMP_WORDS[i]}" in
)";
  std::string paths;
  for (const auto& [path, verb] : all) paths += fmt::format("{}'{}'", paths.empty() ? "" : " | ", path);
  out << "      " << paths << R"() verb="${verb:+$verb }${COMP_WORDS[i]}" ;;
      *) break ;;
    esac
  done
  case $verb in
    '') words=')"
      << line_of(names_of(verbs)) << R"('; flags='--help --version' ;;
)";
  for (const auto& [path, verb] : all) write_bash_verb(out, path, *verb, verbs);
  out << "  esac\n  case \"$verb $before\" in\n";
  for (const auto& [path, verb] : all) write_bash_values(out, path, *verb, verbs);
  out << R"(    *) case $word in -*) words=$flags files='' ;; esac ;;
  esac
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$word"
    if [ -n "$files" ]; then compgen -f -- "$word"; fi
  )
  if [ -n "$files" ]; then compopt -o filenames 2>/dev/null; fi
}
complete -F _accosim accosim
)";
}

// ---- zsh ----

/// Inside single quotes, where `special` would mean something to _arguments or _describe.
std::string in_zsh(const std::string& text, const std::string& special) {
  std::string quoted;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) quoted += '\\';
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted;
}

/// What _arguments shall offer for a value.
std::string zsh_action(const Candidates& candidates) {
  const std::string words = line_of(candidates.words);
  if (!candidates.files) return words.empty() ? " " : "(" + words + ")";
  return words.empty() ? "_files" : fmt::format("{{_alternative \"names:name:({})\" \"files:file:_files\"}}", words);
}

void write_zsh_describe(std::ostream& out, const std::vector<Verb>& verbs, const std::string& indent) {
  out << indent << "local -a verbs=(\n";
  for (const Verb& verb : verbs)
    out << fmt::format("{}  '{}:{}'\n", indent, in_zsh(verb.name, ":"), in_zsh(verb.help, ":"));
  out << indent << ")\n" << indent << "_describe verb verbs\n";
}

void write_zsh_verb(std::ostream& out, const Verb& verb, const std::vector<Verb>& all) {
  out << fmt::format("    {})\n", verb.name);
  if (!verb.verbs.empty()) {
    out << "      if (( CURRENT == 2 )); then\n";
    write_zsh_describe(out, verb.verbs, "        ");
    out << "        return\n      fi\n      shift words; (( CURRENT-- ))\n      case $words[1] in\n";
    for (const Verb& inner : verb.verbs) write_zsh_verb(out, inner, all);
    out << "      esac ;;\n";
    return;
  }
  out << "      _arguments";
  for (const Option& option : verb.options) {
    const std::string value =
        in_zsh(option.takes.empty() ? "value" : option.takes, ":") + ":" + zsh_action(candidates_of(option, all));
    if (is_positional(option)) {
      out << fmt::format(" \\\n        '{}:{}'", std::holds_alternative<Texts>(option.value) ? "*" : "", value);
      continue;
    }
    const std::string help = in_zsh(option.help, "[]:");
    const bool again = std::holds_alternative<Texts>(option.value);
    for (const std::string& name : spellings(option)) {
      const bool or_behind_equals = takes_value(option) && option.words == 1 && name.rfind("--", 0) == 0;
      out << fmt::format(" \\\n        '{}{}{}[{}]", again ? "*" : "", name, or_behind_equals ? "=" : "", help);
      for (int i = 0; takes_value(option) && i < option.words; ++i) out << ":" << value;
      out << "'";
    }
  }
  out << " \\\n        '--help[Print this help]' ;;\n";
}

void write_zsh(std::ostream& out, const std::vector<Verb>& verbs) {
  out << R"(#compdef accosim
# Completion of accosim for zsh, written by `accosim completion zsh`. Put it into a folder of $fpath as _accosim.
_accosim() {
  if (( CURRENT == 2 )); then
)";
  write_zsh_describe(out, verbs, "    ");
  out << "    local -a flags=('--help:Print help' '--version:Print the version')\n    _describe -o option flags\n"
         "    return\n  fi\n  shift words; (( CURRENT-- ))\n  case $words[1] in\n";
  for (const Verb& verb : verbs) write_zsh_verb(out, verb, verbs);
  out << R"(  esac
}
if [ "$funcstack[1]" = _accosim ]; then _accosim "$@"; else compdef _accosim accosim; fi
)";
}

// ---- fish ----

std::string in_fish(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\\' || c == '\'') quoted += '\\';
    quoted += c;
  }
  return "'" + quoted + "'";
}

void write_fish_verb(std::ostream& out, const std::string& path, const Verb& verb, const std::vector<Verb>& verbs) {
  const std::string here = fmt::format("complete -c accosim -n '__accosim_verb {}'", path);
  for (const Verb& inner : verb.verbs)
    out << fmt::format("complete -c accosim -n '__accosim_verb {0}; and not __accosim_verb {0} {1}' -f -a {1} -d {2}\n",
                       path, inner.name, in_fish(inner.help));
  for (const Option& option : verb.options) {
    const Candidates candidates = candidates_of(option, verbs);
    std::string line = here;
    if (!is_positional(option))
      for (const std::string& name : spellings(option))
        line += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (takes_value(option)) line += " -r";
    if (!candidates.words.empty()) line += " -a " + in_fish(line_of(candidates.words));
    line += candidates.files ? " -F" : " -f";
    out << line << " -d " << in_fish(option.help) << '\n';
  }
}

void write_fish(std::ostream& out, const std::vector<Verb>& verbs) {
  out << "# Completion of accosim for fish, written by `accosim completion fish`. Put it into\n"
         "# ~/.config/fish/completions/accosim.fish.\n"
         "function __accosim_verb --description 'Whether the command line begins with these verbs'\n"
         "    set -l words (commandline -opc)\n"
         "    set -l last (math (count $argv) + 1)\n"
         "    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
         "end\n"
         "complete -c accosim -f\n"
         "complete -c accosim -s h -l help -d 'Print help'\n"
         "complete -c accosim -n __fish_use_subcommand -l version -d 'Print the version'\n";
  for (const Verb& verb : verbs)
    out << fmt::format("complete -c accosim -n __fish_use_subcommand -f -a {} -d {}\n", verb.name, in_fish(verb.help));
  for (const auto& [path, verb] : by_path(verbs)) write_fish_verb(out, path, *verb, verbs);
}

}  // namespace

void write_completion(std::ostream& out, const std::string& shell, const std::vector<Verb>& verbs) {
  if (shell == "bash")
    write_bash(out, verbs);
  else if (shell == "zsh")
    write_zsh(out, verbs);
  else
    write_fish(out, verbs);
}

}  // namespace accosim

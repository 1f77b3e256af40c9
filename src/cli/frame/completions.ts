import { flag, type Option } from "./options.ts";
import type { Command } from "./command.ts";

/** Shells that have a completion script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof SHELLS)[number];

/** The completion script for a shell, generated from the command table. */
export function completions(shell: Shell, commands: readonly Command[]): string {
  const visible = commands.filter(({ isHidden }) => isHidden !== true);
  return { bash, zsh, fish }[shell](visible);
}

const flagsOf = ({ options }: Command): readonly Option[] => [...options, HELP];

const HELP: Option = flag("--help", "show the arguments and flags");

/** The words that can follow a prefix of a command: `admin` → `token`, `password`, `user`. */
function nextWordsByPrefix(commands: readonly Command[]): Map<string, string[]> {
  const next = new Map<string, string[]>();
  for (const { name } of commands) {
    const words = name.split(" ");
    words.forEach((word, index) => {
      const prefix = words.slice(0, index).join(" ");
      const nextWords = next.get(prefix) ?? [];
      if (!nextWords.includes(word)) next.set(prefix, [...nextWords, word]);
    });
  }
  return next;
}

/** All commands and all beginnings of their names. */
const listPrefixes = (commands: readonly Command[]): string[] => [
  ...new Set([...nextWordsByPrefix(commands).keys(), ...commands.map(({ name }) => name)]),
];

const takesFile = (command: Command): boolean =>
  command.arguments?.some((word) => word.includes("FILE")) === true;

const choicesOf = (command: Command): string[] =>
  (command.arguments ?? []).filter((word) => word.includes("|")).flatMap((word) => word.split("|"));

const takesPath = ({ isPath }: Option): boolean => isPath === true;

const quoteAll = (names: readonly string[]): string => names.map((name) => `"${name}"`).join("|");

/** For bash and zsh: extends the command prefix as long as the typed words continue a command. */
function commandPathCase(commands: readonly Command[]): string {
  const prefixes = listPrefixes(commands).filter((prefix) => prefix !== "");
  return `    case "\${prefix:+$prefix }$word" in
      ${quoteAll(prefixes)}) prefix="\${prefix:+$prefix }$word" ;;
      *) break ;;
    esac`;
}

/** For bash and zsh: the words and the flags that can follow a prefix. */
function followingCases(commands: readonly Command[]): string {
  const choices = [
    ...nextWordsByPrefix(commands),
    ...commands.map((command) => [command.name, choicesOf(command)] as const),
  ]
    .filter(([, next]) => next.length > 0)
    .map(([prefix, next]) => `    "${prefix}") choices="${next.join(" ")}" ;;`);
  const flags = commands.map(
    (command) =>
      `    "${command.name}") flags="${flagsOf(command)
        .map(({ name }) => `--${name}`)
        .join(" ")}" ;;`,
  );
  const options = commands.flatMap((command) => command.options);
  const namesOf = (isIncluded: (option: Option) => boolean): string =>
    [...new Set(options.filter(isIncluded).map(({ name }) => `--${name}`))].join("|");
  const flagsWithValue = namesOf((option) => option.type !== "boolean" && !takesPath(option));
  return `  case "$prefix" in
${choices.join("\n")}
  esac
  case "$prefix" in
${flags.join("\n")}
  esac
  case "$prefix" in
    ${quoteAll(commands.filter(takesFile).map(({ name }) => name))}) kind=words ;;
  esac
  case "$previous" in
    ${namesOf(takesPath)}) kind=files ;;
    ${flagsWithValue}) kind=value ;;
  esac`;
}

const bash = (commands: readonly Command[]): string => `# bash completion for berth
_berth() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local prefix="" choices="" flags="" kind="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${commandPathCase(commands)}
  done
${followingCases(commands)}
  if [[ "$kind" == value ]]; then
    COMPREPLY=()
  elif [[ "$kind" == files ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  elif [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
    [[ "$kind" == words ]] && COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _berth berth
`;

const zsh = (commands: readonly Command[]): string => `#compdef berth
_berth() {
  local current="$words[CURRENT]" previous="$words[CURRENT-1]"
  local prefix="" choices="" flags="" kind="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
${commandPathCase(commands)}
  done
${followingCases(commands)}
  if [[ "$kind" == value ]]; then
    return
  elif [[ "$kind" == files ]]; then
    _files
  elif [[ "$current" == -* ]]; then
    compadd -- \${=flags}
  else
    compadd -- \${=choices}
    [[ "$kind" == words ]] && _files
  fi
}
compdef _berth berth
`;

const quote = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;

function fish(commands: readonly Command[]): string {
  const nextWords = [...nextWordsByPrefix(commands)].flatMap(([prefix, next]) =>
    next.map((word) => {
      const name = prefix === "" ? word : `${prefix} ${word}`;
      const summary = commands.find((command) => command.name === name)?.summary;
      const description = summary ?? `berth ${name} …`;
      return `${completeAt(prefix)} -f -a ${word} -d ${quote(description)}`;
    }),
  );
  const flagsAndChoices = commands.flatMap((command) => [
    ...flagsOf(command).map((option) => {
      const value = option.type === "boolean" ? "" : takesPath(option) ? " -r -F" : " -x";
      return `${completeAt(command.name)} -l ${option.name}${value} -d ${quote(option.help)}`;
    }),
    ...choicesOf(command).map((word) => `${completeAt(command.name)} -a ${word}`),
    ...(takesFile(command) ? [`${completeAt(command.name)} -F`] : []),
  ]);
  const prefixes = listPrefixes(commands).map((prefix) => quote(` ${prefix}`));
  return `# fish completion for berth
complete -c berth -f
function __berth_at
  set -l prefix
  for word in (commandline -opc)[2..-1]
    contains -- "$prefix $word" ${prefixes.join(" ")}; or break
    set prefix "$prefix $word"
  end
  test "$prefix" = "$argv[1]"
end
${[...nextWords, ...flagsAndChoices].join("\n")}
`;
}

const completeAt = (prefix: string): string =>
  `complete -c berth -n "__berth_at ${quote(prefix === "" ? "" : ` ${prefix}`)}"`;

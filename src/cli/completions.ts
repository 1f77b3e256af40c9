import type { Option } from "../platform/options.ts";
import type { Command } from "./command.ts";

/** Shells there is a completion for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof SHELLS)[number];

/** A script for one shell, made of the command table. */
export function completions(shell: Shell, commands: readonly Command[]): string {
  const shown = commands.filter(({ isHidden }) => isHidden !== true);
  return { bash, zsh, fish }[shell](shown);
}

const flagsOf = ({ options }: Command): readonly Option[] => [...options, HELP];

const HELP: Option = { name: "help", type: "boolean", help: "show the arguments and flags" };

/** The words that can follow what stands there: `admin` → `token`, `password`, `user`. */
function nextWordsByPrefix(commands: readonly Command[]): Map<string, string[]> {
  const next = new Map<string, string[]>();
  for (const { name } of commands) {
    const words = name.split(" ");
    words.forEach((word, place) => {
      const before = words.slice(0, place).join(" ");
      const known = next.get(before) ?? [];
      if (!known.includes(word)) next.set(before, [...known, word]);
    });
  }
  return next;
}

/** What a command's own words may be: files, or one of a few. */
const takesFile = (command: Command): boolean =>
  command.arguments?.some((word) => word.includes("FILE")) === true;

const choicesOf = (command: Command): string[] =>
  (command.arguments ?? []).filter((word) => word.includes("|")).flatMap((word) => word.split("|"));

const takesPath = ({ isPath }: Option): boolean => isPath === true;

const quotedAll = (names: readonly string[]): string => names.map((name) => `"${name}"`).join("|");

/** For bash and zsh alike: the way to a command, as far as the words that were typed are one. */
function commandPathCase(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name);
  const ways = [...new Set([...nextWordsByPrefix(commands).keys(), ...names])].filter(
    (way) => way !== "",
  );
  return `    case "\${way:+$way }$word" in
      ${quotedAll(ways)}) way="\${way:+$way }$word" ;;
      *) break ;;
    esac`;
}

/** For bash and zsh alike: which words and which flags may follow there. */
function cases(commands: readonly Command[]): string {
  const words = [
    ...nextWordsByPrefix(commands),
    ...commands.map((command) => [command.name, choicesOf(command)] as const),
  ]
    .filter(([, next]) => next.length > 0)
    .map(([before, next]) => `    "${before}") choices="${next.join(" ")}" ;;`);
  const flags = commands.map(
    (command) =>
      `    "${command.name}") flags="${flagsOf(command)
        .map(({ name }) => `--${name}`)
        .join(" ")}" ;;`,
  );
  const all = commands.flatMap(({ options }) => options);
  const named = (which: (option: Option) => boolean): string =>
    [...new Set(all.filter(which).map(({ name }) => `--${name}`))].join("|");
  const valued = named((option) => option.type !== "boolean" && !takesPath(option));
  return `  case "$way" in
${words.join("\n")}
  esac
  case "$way" in
${flags.join("\n")}
  esac
  case "$way" in
    ${quotedAll(commands.filter(takesFile).map(({ name }) => name))}) kind=words ;;
  esac
  case "$previous" in
    ${named(takesPath)}) kind=files ;;
    ${valued}) kind=value ;;
  esac`;
}

const bash = (commands: readonly Command[]): string => `# bash completion for berth
_berth() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local way="" choices="" flags="" kind="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${commandPathCase(commands)}
  done
${cases(commands)}
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
  local way="" choices="" flags="" kind="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
${commandPathCase(commands)}
  done
${cases(commands)}
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

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;

function fish(commands: readonly Command[]): string {
  const words = [...nextWordsByPrefix(commands)].flatMap(([before, next]) =>
    next.map((word) => {
      const name = before === "" ? word : `${before} ${word}`;
      const about = commands.find((one) => one.name === name)?.summary ?? `berth ${name} …`;
      return `${at(before)} -f -a ${word} -d ${quoted(about)}`;
    }),
  );
  const more = commands.flatMap((command) => [
    ...flagsOf(command).map((option) => {
      const takes = option.type === "boolean" ? "" : takesPath(option) ? " -r -F" : " -x";
      return `${at(command.name)} -l ${option.name}${takes} -d ${quoted(option.help)}`;
    }),
    ...choicesOf(command).map((word) => `${at(command.name)} -a ${word}`),
    ...(takesFile(command) ? [`${at(command.name)} -F`] : []),
  ]);
  const ways = [
    ...new Set([...nextWordsByPrefix(commands).keys(), ...commands.map(({ name }) => name)]),
  ];
  return `# fish completion for berth
complete -c berth -f
function __berth_at
  set -l way
  for word in (commandline -opc)[2..-1]
    contains -- "$way $word" ${ways.map((way) => quoted(` ${way}`)).join(" ")}; or break
    set way "$way $word"
  end
  test "$way" = "$argv[1]"
end
${[...words, ...more].join("\n")}
`;
}

const at = (way: string): string =>
  `complete -c berth -n "__berth_at ${quoted(way === "" ? "" : ` ${way}`)}"`;

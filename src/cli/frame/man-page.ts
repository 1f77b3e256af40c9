import type { Option } from "./options.ts";
import { version } from "../../platform/embedded/version.ts";
import type { Command } from "./command.ts";
import { describeOption } from "./help.ts";

/** The man page in roff format, generated from the command table. */
export function manPage(commands: readonly Command[]): string {
  const visible = commands.filter(({ isHidden }) => isHidden !== true);
  return `.TH BERTH 1 "" "berth ${version}" "Berth"
.SH NAME
berth \\- a floating license server in one file
.SH SYNOPSIS
.B berth
.I COMMAND
[\\fIFLAGS\\fR]
.SH DESCRIPTION
Berth is a floating license server for one site. Applications register users, borrow slots and count
consumption over HTTP. Licenses and requests are exchanged with the vendor as files, as QR codes or
as codes read out by telephone.
.PP
Every flag has an environment variable of the same meaning. Settings can also be in a TOML file that
\\fB\\-\\-config\\fR specifies; the default for the service's data folder is the service's file.
Flags override the environment, and the environment overrides the file.
.SH COMMANDS
${visible.map(formatCommand).join("\n")}
.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
refused or failed; standard error has the reason and a hint
.TP
.B 2
misuse
.TP
.B 78
the data folder needs an operator
.PP
\\fBberth run\\fR has the exit code of its command; 64, 69, 75, 77, 126 and 127 are its own.
.SH FILES
.TP
.I /var/lib/berth
the service's data
.TP
.I /etc/berth/berth.toml
the service's settings
.SH SEE ALSO
\\fBberth help guide\\fR prints the operating guide: routine tasks, the data folder,
troubleshooting. \\fBberth help guide vendor\\fR, \\fBapi\\fR and \\fBpair\\fR print the guides for
vendors, for developers of applications and for two hosts.
`;
}

function formatCommand(command: Command): string {
  const { name, summary, options, examples = [], valueList } = command;
  const args = (command.arguments ?? []).map((name) => ` \\fI${escapeRoff(name)}\\fR`).join("");
  return [
    `.SS berth ${escapeRoff(name)}${args}`,
    `${escapeRoff(summary)}.`,
    ...options.flatMap(formatFlag),
    ...(valueList === undefined
      ? []
      : [".PP", escapeRoff(`${valueList.title}: ${valueList.values.join(", ")}`)]),
    ...(examples.length === 0
      ? []
      : [".PP", ".nf", ...examples.map((line) => `  ${escapeRoff(line)}`), ".fi"]),
  ].join("\n");
}

function formatFlag(option: Option): string[] {
  const value =
    option.placeholder === undefined ? "" : ` \\fI${escapeRoff(option.placeholder)}\\fR`;
  return [
    ".TP",
    `\\fB\\-\\-${escapeRoff(option.name)}\\fR${value}`,
    escapeRoff(describeOption(option)),
  ];
}

/** A line that begins with a dot or a quote would be a command; a bare hyphen may become a dash. */
const escapeRoff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/, "\\&$1")
    .replaceAll(
      /[^ -~]/gu,
      (char) => `\\[u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    );

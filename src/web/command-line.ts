import { quoteForShell } from "./shell-quote.ts";

/** How commands are called on this server. */
export interface CommandContext {
  /** As a shell needs it. */
  readonly executable: string;
  /** Whether the data folder belongs to another user than the one at the terminal. */
  readonly needsSudo: boolean;
  /** The data folder; empty: commands find it without --data. */
  readonly dataFolder: string;
}

/** These run on the vendor's machine or on a new one, about which this server knows nothing. */
const ELSEWHERE = /^(?:vendor|move in)\b/;

/** These use no data folder. */
const WITHOUT_DATA = [
  "service",
  "qr",
  "run",
  "client",
  "rules import",
  "audit verify",
  "metrics",
  "version",
  "notices",
  "completions",
  "man",
  "help",
];

/** Changes the system, so it needs root for any owner of the data folder. */
const AS_ROOT = /^service (?:install|uninstall)\b/;

/**
 * A command as it works on this server. `command` may begin with `berth` or `sudo berth`, as in the
 * documents; one that names its data folder already is left as it is.
 */
export function commandFor(context: CommandContext, command: string): string {
  const words = command.replace(/^(?:sudo )?berth /, "");
  if (/ --data\b/.test(words)) return command;
  if (ELSEWHERE.test(words)) return `berth ${words}`;
  const hasData = !WITHOUT_DATA.some((name) => `${words} `.startsWith(`${name} `));
  const needsSudo = AS_ROOT.test(words) || (hasData && context.needsSudo);
  const data = hasData && context.dataFolder !== "";
  return [
    ...(needsSudo ? ["sudo"] : []),
    context.executable,
    words,
    ...(data ? ["--data", quoteForShell(context.dataFolder)] : []),
  ].join(" ");
}

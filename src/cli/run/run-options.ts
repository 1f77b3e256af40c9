import { DAY, HOUR, MINUTE, SECOND } from "../../domain/time.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { matchingNumber, oneOf } from "../frame/option-parsers.ts";
import { flag, list, path, text, type InvalidValue } from "../frame/options.ts";

const DEFAULT_SERVER = "http://127.0.0.1:8080";

const UNITS: Readonly<Record<string, number>> = { s: SECOND, m: MINUTE, h: HOUR, d: DAY };

/** A time such as `90s`, `45m`, `2h` or `1d`, in milliseconds. */
function parseWait(text: string): Result<number, InvalidValue> {
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return amount === undefined
    ? err({ problem: "must be a number with s, m, h or d", hint: "for example --wait 2h" })
    : ok(Number(amount) * (UNITS[unit] ?? 0));
}

/** A server's address, without a slash at its end. The clients take the same addresses. */
function parseServer(text: string): Result<string, InvalidValue> {
  const hint = "for example --server https://berth.plant7.lan:8443";
  if (!URL.canParse(text)) return err({ problem: "must be a URL", hint });
  const { origin, protocol, username, password, pathname, search, hash } = new URL(text);
  if (protocol !== "http:" && protocol !== "https:") {
    return err({ problem: "must begin with http:// or https://", hint });
  }
  if (username !== "" || password !== "") {
    const flags = "use --login and --password-file";
    return err({ problem: "must not contain a user name and a password", hint: flags });
  }
  if (search !== "" || hash !== "") return err({ problem: "must not contain a query", hint });
  if (pathname.includes("/api/v4")) return err({ problem: "must not contain /api/v4", hint });
  return ok(`${origin}${pathname.replace(/(?<!\/)\/+$/, "")}`);
}

export const runOptions = {
  product: text("--product CODE", "the product code", {
    isRequired: true,
    missingHint: "for example berth run --product CAD -- make",
  }),
  wait: text(
    "--wait TIME",
    "how long to wait for a slot, such as 90s, 45m, 2h or 1d; without it, not at all",
    { parse: parseWait },
  ),
  server: list("--server URL", "address of the server; several are tried in turn", {
    defaultValue: DEFAULT_SERVER,
    parse: parseServer,
  }),
  user: text(
    "--user NAME",
    "the person who holds the slot; host and process are added to the name",
    { defaultDescription: "the name of --login, or of the user at this machine" },
  ),
  exactUser: flag(
    "--exact-user",
    "add nothing to the name: all commands with the same name share one slot",
  ),
  licenseId: text("--license-id ID", "take the slot of this license", {
    parse: matchingNumber(
      /^\d{1,16}$/,
      "must be the id of a license",
      "berth status shows the ids",
    ),
  }),
  onLoss: text(
    "--on-loss ACTION",
    "if the slot is lost: warn; stop the command (SIGTERM, SIGKILL after 10 s); or kill it",
    { defaultValue: "warn", parse: oneOf("warn", "stop", "kill") },
  ),
  login: text("--login NAME", 'log in with this name, for a server with client_auth = "login"'),
  passwordFile: path("--password-file FILE", "a file with the password of --login"),
  allowPlainPassword: flag(
    "--allow-plain-password",
    "send the password of --login to another machine without TLS, where others can read it",
  ),
  caFile: path(
    "--ca-file FILE",
    "the CA certificate of the server (PEM); no other one is trusted then",
  ),
  certFile: path(
    "--cert-file FILE",
    'a client certificate and its key (PEM), for a server with client_auth = "mtls"',
  ),
  quiet: flag("--quiet", "print only errors and warnings"),
};

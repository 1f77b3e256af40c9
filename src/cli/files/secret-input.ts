import { Misuse } from "../frame/options.ts";
import { isAcceptablePassword, PASSWORD_RULE } from "../../platform/crypto/passwords.ts";
import { Failure, ServerRefused } from "../frame/command.ts";
import { askHidden, canAsk } from "../frame/terminal.ts";
import { readInputText } from "./output-document.ts";

/** Typed twice and hidden on a terminal, or the first line of a pipe; never a flag. */
export async function readPassword(): Promise<string> {
  if (canAsk()) return askSecretTwice("password", checkPassword);
  const [line = ""] = readInputText("-", "the password").split(/\r?\n/);
  if (line === "") {
    const hint = "the first line must be the password: berth admin password < FILE";
    throw new Misuse("standard input contains no password", hint);
  }
  return line;
}

/** Same message as the server's, which checks again. */
function checkPassword(text: string): void {
  if (isAcceptablePassword(text)) return;
  throw new ServerRefused("invalid_parameter", `password must be ${PASSWORD_RULE}`, "");
}

/** Asks for a new secret, which must be typed twice. */
export async function askSecretTwice(
  what: string,
  check: (text: string) => void = () => {},
): Promise<string> {
  const first = await askSecret(what, `${what}: `);
  if (first === "") throw new Failure(`no ${what} was entered; nothing was changed`, "");
  check(first);
  if ((await askSecret(what, `${what} again: `)) !== first) {
    throw new Failure(`the two entries differ; nothing was changed`, "run the command again");
  }
  return first;
}

/** Asks for an existing secret, once. */
export async function askSecret(what: string, question = `${what}: `): Promise<string> {
  const secret = await askHidden(question);
  if (secret === null) throw new Failure(`no ${what} was entered; nothing was changed`, "");
  return secret;
}

import { readFileSync } from "node:fs";
import { Misuse } from "../platform/options.ts";
import { Failure } from "./command.ts";
import { askHidden } from "./terminal.ts";

/** From a person twice, unseen; from a pipe its first line. Never from the command line. */
export async function readPassword(): Promise<string> {
  if (!process.stdin.isTTY) {
    const [line = ""] = readFileSync(0, "utf8").split(/\r?\n/);
    if (line === "") throw new Misuse("no password came in", "send it as one line");
    return line;
  }
  const first = await askHidden("password: ");
  if ((await askHidden("once more: ")) !== first) {
    throw new Failure("the two are not the same; nothing was changed", "");
  }
  return first;
}

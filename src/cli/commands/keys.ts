import { existsSync } from "node:fs";
import { Misuse } from "../../platform/options.ts";
import {
  EXIT_OK,
  getDataFolder,
  Failure,
  isFlagSet,
  getAdminTarget,
  type Command,
} from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { readInputText } from "../files/output-document.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { servicePaths } from "../service/unit.ts";
import { print, printJson } from "../frame/terminal.ts";

/** From a file or standard input: every user of the machine can read a command line. */
export const keysSetCommand: Command = {
  name: "keys set",
  summary: "set the two cloud credentials, from lines apiKey=… and sharedKey=…",
  options: [option.data, option.identity, option.config, option.json],
  arguments: ["[FILE]"],
  examples: ["berth keys set keys.txt", "berth keys set - < keys.txt"],
  run(flags) {
    const body = parseKeys(readInputText(flags.positionals[0] ?? "-", "the file with the keys"));
    return withAdminClient(getAdminTarget(flags), async (call) => {
      if (isSealedForService(getDataFolder(flags))) {
        const { pid } = (await call("GET", "/api/admin/v1/status")) as { readonly pid: number };
        if (pid === process.pid) throw new Failure("the service is not running", START_HINT);
      }
      const reply = (await call("POST", "/api/v4/setKeys", body)) as { readonly updated: string[] };
      if (isFlagSet(flags, "json")) printJson(reply);
      else
        print(reply.updated.length === 0 ? "nothing changed" : `set: ${reply.updated.join(", ")}`);
      return EXIT_OK;
    });
  },
};

/** Only the service gets the sealing key: it could not open what another process sealed. */
const isSealedForService = (folder: string): boolean =>
  folder === servicePaths.data && existsSync(servicePaths.sealingKey);

const START_HINT =
  "systemctl start berth; only the service has the key that encrypts the credentials";

function parseKeys(text: string): Record<string, string> {
  const keys: Record<string, string> = {};
  for (const line of text.split("\n").filter((text) => text.trim() !== "")) {
    const [, name, value] = /^\s*(apiKey|sharedKey)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new Misuse(
        "a line is neither apiKey=VALUE nor sharedKey=VALUE",
        "berth keys set --help",
      );
    }
    keys[name] = value;
  }
  return keys;
}

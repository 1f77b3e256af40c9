import { existsSync } from "node:fs";
import { Misuse } from "../../frame/options.ts";
import { unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { readInputText } from "../../files/output-document.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { servicePaths } from "../../service/unit.ts";

/** From a file or standard input: every user of the machine can read a command line. */
export const keysSetCommand = defineCommand({
  name: "keys set",
  summary: "set the two cloud credentials, from lines apiKey=… and sharedKey=…",
  options: { ...siteOptions, json: option.json },
  arguments: ["[FILE]"],
  examples: ["berth keys set keys.txt", "berth keys set - < keys.txt"],
  run(site, context) {
    const body = parseKeys(readInputText(context.args[0] ?? "-", "the file with the keys"));
    return withAdminClient(site, context, async ({ admin, v4 }) => {
      if (isSealedForService(site.data)) {
        const { pid } = await unwrapReply(admin.status.get());
        if (pid === process.pid) throw new Failure("the service is not running", START_HINT);
      }
      const reply = await unwrapReply(v4.setKeys.post(body));
      const { updated } = reply;
      return {
        json: reply,
        text: updated.length === 0 ? "nothing changed" : `set: ${updated.join(", ")}`,
      };
    });
  },
});

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

import { Misuse } from "../../platform/options.ts";
import { DONE, isSet, type Command, place } from "../command.ts";
import { option } from "../flags.ts";
import { readInput } from "../handing-over.ts";
import { reach } from "../reach.ts";
import { print, printJson } from "../terminal.ts";

/**
 * From a file or standard input, never from the command line: everybody on the machine reads that.
 */
export const keysSet: Command = {
  name: "keys set",
  summary: "set the two cloud credentials: a line apiKey=…, a line sharedKey=…",
  options: [option.data, option.identity, option.config, option.json],
  arguments: ["FILE"],
  examples: ["berth keys set - < keys.txt"],
  run(given) {
    const body = parse(readInput(given.words[0] ?? "-", "the file with the keys"));
    return reach(place(given), async (call) => {
      const reply = (await call("POST", "/api/v4/setKeys", body)) as { readonly updated: string[] };
      if (isSet(given, "json")) printJson(reply);
      else
        print(reply.updated.length === 0 ? "nothing changed" : `set: ${reply.updated.join(", ")}`);
      return DONE;
    });
  },
};

function parse(text: string): Record<string, string> {
  const keys: Record<string, string> = {};
  for (const line of text.split("\n").filter((one) => one.trim() !== "")) {
    const [, name, value] = /^\s*(apiKey|sharedKey)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new Misuse("a line is neither apiKey=… nor sharedKey=…", "berth keys set --help");
    }
    keys[name] = value;
  }
  return keys;
}

// A program for on_event, and what its runs leave behind.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./temp-folder.ts";
import { waitUntil } from "./wait-until.ts";

/** One run of the program. */
export interface ProgramRun {
  readonly pid: number;
  readonly event: {
    readonly event: string;
    readonly code: string;
    readonly subject: string | null;
  };
  readonly variables: readonly string[];
}

/** A shell script that writes down each of its runs, and then does what the test wants. */
export class EventProgram {
  readonly path = join(tempFolder(), "on event.sh");
  readonly #runs = join(tempFolder(), "runs");

  constructor(behavior = "exit 0") {
    mkdirSync(this.#runs);
    this.behave(behavior);
  }

  /** Shell code for the end of each later run. */
  behave(behavior: string): void {
    const run = `${this.#runs}/$$`;
    const lines = [
      "#!/bin/sh",
      `cat > ${run}.json; env | sort > ${run}.env; mv ${run}.json ${run}.done`,
      behavior,
    ];
    writeFileSync(this.path, `${lines.join("\n")}\n`);
    chmodSync(this.path, 0o755);
  }

  /** All runs that have read their event. */
  runs(): ProgramRun[] {
    return readdirSync(this.#runs)
      .filter((name) => name.endsWith(".done"))
      .map((name) => {
        const path = join(this.#runs, name);
        return {
          pid: Number(name.split(".")[0]),
          event: JSON.parse(readFileSync(path, "utf8")) as ProgramRun["event"],
          variables: readFileSync(path.replace(/done$/, "env"), "utf8").trimEnd().split("\n"),
        };
      });
  }

  /** Waits for the run with this event. */
  async waitForRun(event: string, code: string): Promise<ProgramRun> {
    const find = (): ProgramRun | undefined =>
      this.runs().find((run) => run.event.event === event && run.event.code === code);
    await waitUntil(() => find() !== undefined, `a run of the program for ${event} ${code}`);
    const found = find();
    if (found === undefined || !existsSync(this.path)) throw new Error("the run is gone");
    return found;
  }
}

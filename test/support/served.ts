// What a running server has done by processes of its own, from the sources, on any folder.
import { servedBy } from "../../src/cli/errands/served.ts";
import type { RunningServer } from "../../src/http/running-server.ts";

export const served = (folder: string): RunningServer =>
  servedBy(
    { values: new Map(), words: [], environment: process.env, platform: process.platform },
    folder,
    [{ address: "127.0.0.1:8080", tls: false }],
  );

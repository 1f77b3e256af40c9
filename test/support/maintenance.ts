// The maintenance of a running server (verify, backup and so on in child processes), from sources.
import { createRunningServer } from "../../src/cli/maintenance/running-server.ts";
import type { RunningServer } from "../../src/http/running-server.ts";

export const makeMaintenance = (folder: string): RunningServer =>
  createRunningServer({
    settings: { data: folder, identity: null, clientNetworks: [], adminNetworks: [] },
    setOptions: [],
    config: null,
    environment: process.env,
    listeners: [{ address: "127.0.0.1:8080", tls: false }],
    reportAuditFinding: () => {},
  });

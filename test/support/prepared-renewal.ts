// A vendor's desk and a site on one machine, operated with the commands of the compiled binary.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary, startBinary } from "./binary.ts";
import { INIT_DESK, withEnd } from "./vendor-commands.ts";

export interface PreparedRenewal {
  /** Data folder of a stopped site with a license. */
  readonly site: string;
  /** The vendor's answer to the site's newest request. */
  readonly renewal: string;
  readonly oldSlots: number;
  readonly newSlots: number;
}

function run(...args: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([buildBinary(), ...args], {
    cwd: "/",
    env: {},
  });
  if (exitCode !== 0) throw new Error(`berth ${args.join(" ")}: ${stderr.toString()}`);
  return stdout.toString();
}

async function prepareRenewal(root: string): Promise<PreparedRenewal> {
  const [desk, site] = [join(root, "desk"), join(root, "site")];
  const [request, license] = [join(root, "request.jwt"), join(root, "license.jwt")];
  const data = ["--data", site];
  run(...INIT_DESK, "--dir", desk, "--product", "cad");
  const server = await startBinary("serve", ...data, "--listen", "127.0.0.1:0");
  run("trust", "add", join(desk, "trust.jwt"), ...data, "--yes");
  for (const slots of ["3", "5"]) {
    run("license", "request", ...data, "--product", "cad", "--out", request);
    const terms = ["--slots", slots, "--allow-weak-binding", "--out", license];
    run("vendor", "issue", "--dir", desk, "--request", request, ...withEnd(terms));
    if (slots === "3") run("license", "add", license, ...data);
  }
  await server.stop();
  return { site, renewal: readFileSync(license, "utf8"), oldSlots: 3, newSlots: 5 };
}

export const BERTH_COMMANDS = { run, preparedRenewal: prepareRenewal };

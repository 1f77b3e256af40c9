import { existsSync, readFileSync, statSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { Misuse } from "../../platform/options.ts";
import { runTool } from "../../platform/systemd.ts";
import { Failure, listOf, stringOf, type Given } from "../command.ts";
import { tlsPaths } from "../tls-files.ts";
import { adminTokenStep } from "./admin-token.ts";
import { binaryStep, fileStep, folderStep, type Owner, type Step } from "./steps.ts";
import { places, sysusers, unitText } from "./unit.ts";
import { berth } from "./upgrade.ts";

/** What the unit hides from the service, or would read as more than one word. */
export function checkPlace(binary: string): void {
  if (!/^\/[\w./+@-]+$/.test(binary)) {
    throw new Misuse(
      "--install-path may only contain letters, digits and . / + @ - _",
      "for example /opt/berth",
    );
  }
  if (/^\/(?:home|root|run\/user|tmp|var\/tmp)\//.test(binary)) {
    throw new Misuse(
      `the service cannot access ${binary}`,
      "for example --install-path /usr/local/bin/berth",
    );
  }
  if (statSync(binary, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new Misuse(`${binary} is a folder`, `--install-path ${binary}/berth`);
  }
}

const own = (...words: readonly string[]): string => berth(process.execPath, ...words);

/** Everything an appliance consists of, in the order it can be made. */
export function installationSteps(given: Given, binary: string): Step[] {
  const names = listOf(given, "names").flatMap((name) => ["--names", name]);
  return [
    binaryStep(process.execPath, binary),
    fileStep("the man page", places.man, () => own("man"), { mode: 0o644 }),
    fileStep("completions for bash", places.completion, () => own("completions", "bash"), {
      mode: 0o644,
    }),
    fileStep("the service's user definition", places.users, () => sysusers, { mode: 0o644 }),
    { what: "the user berth", isDone: () => ownerOf("berth") !== null, act: addUser },
    fileStep(
      "the key that encrypts the cloud credentials",
      places.sealingKey,
      () => randomBytes(32),
      {
        mode: 0o600,
        once: true,
      },
    ),
    fileStep("the settings", places.settings, () => settingsOf(given), { mode: 0o644, once: true }),
    fileStep("the unit", places.unit, () => unitText(binary, existsSync), { mode: 0o644 }),
    folderStep("the data folder", places.data, 0o700, () => ownerOf("berth")),
    adminTokenStep(own),
    {
      what: `a site CA and a server certificate: ${tlsPaths(places.data).caCertificate}`,
      isDone: () => existsSync(tlsPaths(places.data).certificate),
      act: () => void own("tls", "init", ...names, "--data", places.data),
    },
  ];
}

const settingsOf = (given: Given): string => `# Settings of the Berth service, read when it starts.
# berth help serve lists all of them: --client-networks is client_networks here.
data = ${JSON.stringify(places.data)}
listen = ${JSON.stringify(stringOf(given, "listen"))}
listen_tls = ${JSON.stringify(stringOf(given, "listen-tls"))}
names = ${JSON.stringify(listOf(given, "names"))}
`;

function addUser(): void {
  const made = runTool(["systemd-sysusers", places.users]);
  if (made.ok && ownerOf("berth") !== null) return;
  const nologin = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "berth"];
  const added = runTool(["useradd", ...nologin]);
  if (!added.ok) throw new Failure(`cannot create the user berth: ${added.text}`, "");
}

function ownerOf(user: string): Owner | null {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((one) => one.startsWith(`${user}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}

import { existsSync, readFileSync, statSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { Misuse } from "../frame/options.ts";
import { runTool } from "../../platform/system/systemd.ts";
import { Failure } from "../frame/command.ts";
import { tlsPaths } from "../tls/tls-files.ts";
import { adminTokenStep } from "./admin-token.ts";
import { binaryStep, fileStep, folderStep, type Owner, type InstallStep } from "./steps.ts";
import { isHiddenByUnit, servicePaths, sysusersText, unitText } from "./unit.ts";
import { readServiceBackupDir } from "./service-backup-dir.ts";
import { runBerth } from "./upgrade.ts";

/** Refuses a path that the unit hides from the service, or that systemd would split. */
export function checkInstallPath(binary: string): void {
  if (!/^\/[\w./+@-]+$/.test(binary)) {
    throw new Misuse(
      "--install-path may only contain letters, digits and . / + @ - _",
      "for example /opt/berth",
    );
  }
  if (isHiddenByUnit(binary)) {
    throw new Misuse(
      `the service cannot access ${binary}`,
      "for example --install-path /usr/local/bin/berth",
    );
  }
  if (statSync(binary, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new Misuse(`${binary} is a folder`, `--install-path ${binary}/berth`);
  }
}

const runSelf = (...args: readonly string[]): string => runBerth(process.execPath, ...args);

/** What the settings file of a new installation contains. */
interface FirstSettings {
  readonly listen: string;
  readonly listenTls: string;
  readonly names: readonly string[];
}

/** Everything that an installation consists of, in the order of creation. */
export function installationSteps(settings: FirstSettings, binary: string): InstallStep[] {
  const names = settings.names.flatMap((name) => ["--names", name]);
  return [
    binaryStep(process.execPath, binary),
    fileStep("the man page", servicePaths.man, () => runSelf("man"), { mode: 0o644 }),
    fileStep(
      "completions for bash",
      servicePaths.completion,
      () => runSelf("completions", "bash"),
      {
        mode: 0o644,
      },
    ),
    fileStep("the service's user definition", servicePaths.users, () => sysusersText, {
      mode: 0o644,
    }),
    { description: "the user berth", isDone: () => findUser("berth") !== null, apply: addUser },
    fileStep(
      "the key that encrypts the cloud credentials",
      servicePaths.sealingKey,
      () => randomBytes(32),
      {
        mode: 0o600,
        keepExisting: true,
      },
    ),
    fileStep("the settings", servicePaths.settings, () => formatSettings(settings), {
      mode: 0o644,
      keepExisting: true,
    }),
    fileStep(
      "the unit",
      servicePaths.unit,
      () => unitText(binary, existsSync, readServiceBackupDir()),
      {
        mode: 0o644,
      },
    ),
    folderStep("the data folder", servicePaths.data, 0o700, () => findUser("berth")),
    adminTokenStep(runSelf),
    {
      description: `a site CA and a server certificate: ${tlsPaths(servicePaths.data).caCertificate}`,
      isDone: () => existsSync(tlsPaths(servicePaths.data).certificate),
      apply: () => void runSelf("tls", "init", ...names, "--data", servicePaths.data),
    },
  ];
}

const formatSettings = ({
  listen,
  listenTls,
  names,
}: FirstSettings): string => `# Settings of the Berth service, read when it starts.
# berth help serve lists all of them: --client-networks is client_networks here.
data = ${JSON.stringify(servicePaths.data)}
listen = ${JSON.stringify(listen)}
listen_tls = ${JSON.stringify(listenTls)}
names = ${JSON.stringify(names)}
`;

function addUser(): void {
  const created = runTool(["systemd-sysusers", servicePaths.users]);
  if (created.ok && findUser("berth") !== null) return;
  const nologin = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "berth"];
  const added = runTool(["useradd", ...nologin]);
  if (!added.ok) throw new Failure(`cannot create the user berth: ${added.output}`, "");
}

function findUser(user: string): Owner | null {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith(`${user}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}

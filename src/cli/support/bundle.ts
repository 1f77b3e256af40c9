import { existsSync, readFileSync, realpathSync } from "node:fs";
import { isIP } from "node:net";
import { arch, hostname, release, userInfo, version as kernel } from "node:os";
import { messageOfError } from "../../platform/error-message.ts";
import { runAsFolderOwner } from "../../platform/files/owner.ts";
import type { OpenFile } from "../../platform/files/disk.ts";
import type { Environment } from "../../platform/environment.ts";
import { resolveOptions, type ResolvedOption } from "../frame/options.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { wallClock } from "../../platform/clock.ts";
import { hasSystemd, readServiceLog } from "../../platform/system/systemd.ts";
import { commit, runtime, target, version } from "../../platform/embedded/version.ts";
import type { PairReply } from "../../http/routes/pair/pair-reply.ts";
import { readAccessList } from "../../operations/access/access-list.ts";
import { describeFiles, readAuditLineTypes } from "../../operations/folder/folder-contents.ts";
import { ArchiveWriter } from "../../operations/backups/archive.ts";
import { parseRules } from "../../rules/parse-rules.ts";
import { unwrapReply, withAdminClient, type AdminClient } from "../client/admin-client.ts";
import { doctorReply } from "../doctor/doctor-report.ts";
import { checkInstallation, type Installation } from "../doctor/installation.ts";
import { noCheck, refuseToReplace, writeOutput } from "../files/output-file.ts";
import { settings as serverSettings } from "../serve/settings.ts";
import { servicePaths, SERVICE_UNIT } from "../service/unit.ts";
import { parseConfig } from "../frame/settings-file.ts";
import { addPairNames } from "./pair-entry.ts";
import { Redactor } from "./redact.ts";

export interface BundleEntry {
  readonly name: string;
  readonly description: string;
  readonly text: string;
}

const LOG_LINES = 2_000;
const AUDIT_LINES = 500;

/** Everything that helps to find a problem, without the names of people and machines. */
export async function collectEntries(installation: Installation): Promise<BundleEntry[]> {
  const { environment, config } = installation;
  const folder = installation.settings.data;
  const redactor = new Redactor();
  redactor.pseudonymFor("host", hostname());
  for (const user of [userInfo().username, environment["SUDO_USER"] ?? ""]) {
    redactor.pseudonymFor("user", user);
  }
  const json = (value: unknown): string =>
    `${JSON.stringify(redactor.redactValue(value), null, 1)}\n`;
  const resolved = resolveSettings(config, environment);
  for (const { kind, value } of listSensitivePaths(config, folder, resolved))
    redactor.pseudonymFor(kind, value);
  const { onEvent, eventSyslog } = installation.settings;
  for (const argument of onEvent) redactor.pseudonymFor("argument", argument);
  if (eventSyslog !== null && "host" in eventSyslog && isIP(eventSyslog.host) === 0)
    redactor.pseudonymFor("host", eventSyslog.host);
  const pair = await fetchPair(installation);
  addPairNames(redactor, installation.settings, pair);
  const settings =
    "error" in resolved
      ? resolved
      : [...resolved].map(([name, { value, from }]) => ({ [name]: value, source: from }));
  // First: names that occur here are then replaced in free text as well.
  const slots = await fetchReply(installation, ({ admin }) =>
    unwrapReply(admin.registrations.get({ query: {} })),
  );
  redactor.redactValue([
    slots,
    await runAsFolderOwner(folder, async () => readAccessNames(folder)),
    settings,
  ]);
  for (const name of await readGroupNames(installation)) redactor.pseudonymFor("group", name);
  const files = await runAsFolderOwner(folder, async () => describeFiles(folder));
  // Names of files that are not Berth's own may be confidential.
  for (const { file } of files) if (!isOwnFile(file)) redactor.pseudonymFor("file", file);
  return [
    { name: "berth.json", description: "version and machine", text: json(describeMachine()) },
    { name: "slots.json", description: "slots in use, with names replaced", text: json(slots) },
    {
      name: "status.json",
      description: "output of berth status",
      text: json(await fetchReply(installation, ({ admin }) => unwrapReply(admin.status.get()))),
    },
    ...(pair?.pair == null
      ? []
      : [
          {
            name: "pair.json",
            description: "output of berth pair status, with names replaced",
            text: json(pair),
          },
        ]),
    {
      name: "settings.json",
      description: "output of berth config",
      text: json(settings),
    },
    {
      name: "doctor.json",
      description: "output of berth doctor",
      text: json(doctorReply(await checkInstallation(installation))),
    },
    {
      name: "files.json",
      description: "names, sizes and modes in the data folder",
      text: json(files),
    },
    {
      name: "audit.json",
      description: `time and event type of the last ${AUDIT_LINES} lines of the audit log`,
      text: json(
        await runAsFolderOwner(folder, async () => readAuditLineTypes(folder, AUDIT_LINES)),
      ),
    },
    ...(hasSystemd()
      ? [
          {
            name: "log.txt",
            description: `the last ${LOG_LINES} log lines of the service`,
            text: `${redactor.redactLog(readServiceLog(SERVICE_UNIT, LOG_LINES))}\n`,
          },
        ]
      : []),
  ];
}

const describeMachine = () => ({
  version,
  commit,
  runtime,
  target,
  created_at: rfc3339(wallClock()),
  kernel: `${release()} ${kernel()} ${arch()}`,
});

/** The server's reply, or why there is none: both help. */
async function fetchReply(
  { settings, environment }: Installation,
  fetch: (client: AdminClient) => Promise<unknown>,
): Promise<unknown> {
  try {
    return await withAdminClient(settings, { environment }, fetch);
  } catch (error) {
    return { error: messageOfError(error) };
  }
}

/** Null: there is no readable folder, or its server does not answer. */
async function fetchPair({ settings, environment }: Installation): Promise<PairReply | null> {
  try {
    return await withAdminClient(settings, { environment }, ({ admin }) =>
      unwrapReply(admin.pair.get()),
    );
  } catch {
    // The status says why.
    return null;
  }
}

/** From the environment and the settings file; for the service's folder, the service's file. */
function resolveSettings(
  path: string | null,
  environment: Environment,
): ReadonlyMap<string, ResolvedOption> | SettingsError {
  const options = Object.values(serverSettings);
  try {
    const file = path === null ? null : parseConfig(path, readFileSync(path, "utf8"), options);
    return resolveOptions(options, {}, environment, file);
  } catch (error) {
    return { error: messageOfError(error) };
  }
}

interface SettingsError {
  readonly error: string;
}

interface SensitivePath {
  readonly kind: "folder" | "path";
  readonly value: string;
}

/** The site's own paths: they may name a customer or a person. */
function listSensitivePaths(
  config: string | null,
  folder: string,
  settings: ReturnType<typeof resolveSettings>,
): SensitivePath[] {
  const folders = [folder, ...(existsSync(folder) ? [realpathSync(folder)] : [])];
  const files = [config];
  const values = "error" in settings ? null : settings;
  const paths = Object.values(serverSettings).filter((option) => "isPath" in option);
  for (const { name } of paths) {
    const value = values?.get(name)?.value;
    if (typeof value === "string") (name === "data" ? folders : files).push(value);
  }
  const isInside = (value: string): boolean => folders.some((path) => value.startsWith(`${path}/`));
  return [
    ...folders.map((value) => ({ kind: "folder" as const, value })),
    ...files.flatMap((value) =>
      value === null || isInside(value) ? [] : [{ kind: "path" as const, value }],
    ),
    // The default paths of the service reveal nothing.
  ].filter(({ value }) => value !== servicePaths.data && value !== servicePaths.settings);
}

/** Names of Berth's own files, up to the first character that is not a letter. */
const OWN_FILE_STEMS = new Set([
  "state",
  "journal",
  "identity",
  "access",
  "lock",
  "checkpoint",
  "berth",
  "credentials",
  "sealing",
  "history",
  "usage",
  "downloads",
  "backups",
  "tls",
  "demo",
  "replaced",
]);

const isOwnFile = (file: string): boolean => OWN_FILE_STEMS.has(/^[a-z]*/.exec(file)?.[0] ?? "");

/** Names of tokens and users, which occur in warnings and log lines. */
function readAccessNames(folder: string): unknown {
  try {
    const { tokens, users } = readAccessList(folder);
    return [...tokens, ...users].map(({ name }) => ({ name }));
  } catch {
    // A file that cannot be read contributes no names.
    return null;
  }
}

/** Groups of the sharing rules, which occur in findings: they may name teams or projects. */
async function readGroupNames({ settings, environment }: Installation): Promise<Iterable<string>> {
  try {
    const { text } = await withAdminClient(settings, { environment }, ({ admin }) =>
      unwrapReply(admin.rules.get()),
    );
    return parseRules(text).lines.groups.keys();
  } catch {
    // Without a readable folder, there are no findings that name groups.
    return [];
  }
}

/** Writes a plain tar file for its owner only, who can inspect it before sending it. */
export async function writeBundle(out: string, entries: readonly BundleEntry[]): Promise<void> {
  refuseToReplace(out);
  const write = (file: OpenFile): void => {
    const archive = new ArchiveWriter(file);
    for (const { name, text } of entries) {
      const bytes = Buffer.from(text);
      archive.add(name, bytes.length, [bytes]);
    }
    archive.end();
  };
  await writeOutput(out, write, noCheck);
}

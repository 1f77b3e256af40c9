import { wallClock } from "../../../platform/clock.ts";
import { realDisk, withOpenFile } from "../../../platform/files/disk.ts";
import { becomeFolderOwner, runAsFolderOwner } from "../../../platform/files/owner.ts";
import {
  fingerprintOfRequest,
  formatPairRequest,
  parsePairRequest,
  type PairRequest,
} from "../../../license/requests/pair-request.ts";
import { checkJoin } from "../../../operations/pair/check-join.ts";
import { joinPair } from "../../../operations/pair/join-pair.ts";
import { makeAdmission } from "../../../operations/pair/make-admission.ts";
import { makePairRequest } from "../../../operations/pair/pending-request.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { instant } from "../../../domain/time.ts";
import { unwrapReply, withRunningServer } from "../../client/admin-client.ts";
import { checkFile, checkNewFile } from "../../files/file-argument.ts";
import { readInputBytes } from "../../files/input-file.ts";
import { noCheck, refuseToReplace, writeOutput, writeOutputText } from "../../files/output-file.ts";
import { Failure } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { formatCount, formatTable } from "../../frame/terminal.ts";
import { hardwareComponents } from "../../serve/appliance.ts";
import { readPairOptions } from "../../serve/pair-options.ts";
import { pairSettings } from "../../serve/pair-settings.ts";
import { readPasswordSources } from "../../serve/service-credentials.ts";

const request = defineCommand({
  name: "pair request",
  isCommon: true,
  summary: "on a new host: write a request to join the pair of another host",
  options: { ...siteOptions, pairHost: pairSettings.pairHost, json: option.json },
  arguments: ["FILE"],
  examples: ["berth pair request /media/usb/license2.request --pair-host license2"],
  async run({ data: folder, identity, pairHost: host }, { args }) {
    const file = checkNewFile(args[0], folder, "a request", "license2.request");
    refuseToReplace(file);
    const hardware = hardwareComponents(identity, "site");
    if (hardware.length === 0) {
      throw new Failure("no hardware can be identified", "name this host with --identity NAME");
    }
    const pairRequest = await runAsFolderOwner(folder, () =>
      makePairRequest(realDisk, folder, { host, hardware, now: wallClock() }),
    );
    await writeOutputText(file, `${formatPairRequest(pairRequest)}\n`);
    const fingerprint = fingerprintOfRequest(pairRequest);
    return {
      json: { path: file, host, fingerprint },
      text: `${formatTable(requestFacts(pairRequest))}

${file} is written. It names this host and its hardware; it has no secret.
On the other host:  run berth pair admit ${file} FILE, and compare the fingerprint by voice
On this host:       then run berth pair join FILE`,
    };
  },
});

const admit = defineCommand({
  name: "pair admit",
  isCommon: true,
  summary: "on the host that leads: admit a second host, and write a file with which it joins",
  options: { ...siteOptions, yes: option.yes, json: option.json },
  arguments: ["REQUEST", "FILE"],
  examples: ["berth pair admit /media/usb/license2.request /media/usb/license2.admission"],
  async run(options, context) {
    const { data: folder } = options;
    const [requestFile, admissionFile] = context.args;
    const text = new TextDecoder().decode(readInputBytes(requestFile, "a request to join a pair"));
    const pairRequest = parsePairRequest(text);
    if (pairRequest === null) {
      throw new Failure(
        `${requestFile} is not a request to join a pair`,
        "berth pair request FILE on the other host writes one",
        "invalid_pair_request",
      );
    }
    const file = checkNewFile(admissionFile, folder, "an admission", "license2.admission");
    refuseToReplace(file);
    context.show(formatTable(requestFacts(pairRequest)));
    const question = `compare the fingerprint by voice with the one that host ${pairRequest.host} shows; admit it?`;
    await confirm(options, question, "admit it only if the fingerprints are the same");
    const admitted = await withRunningServer(folder, ({ admin }) =>
      unwrapReply(admin.pair.admit.post({ request: text })),
    );
    if (admitted === null) {
      throw new Failure(
        `no server is running in ${folder}`,
        "start this host with pair_log first; it admits the other one",
        "server_not_running",
      );
    }
    await writeOutput(
      file,
      (output) =>
        runAsFolderOwner(folder, () =>
          makeAdmission(folder, pairRequest, instant(wallClock()), output),
        ),
      noCheck,
    );
    return {
      json: { path: file, ...admitted },
      text: `host ${pairRequest.host} is admitted.
${file} is written. Only host ${pairRequest.host} can read it: it contains the key of the appliance.
On host ${pairRequest.host}:  run berth pair join ${file}, then start the server there with the same pair_log`,
    };
  },
});

const join = defineCommand({
  name: "pair join",
  isCommon: true,
  summary: "on a host that was admitted: make its data folder; then start the server",
  options: { ...siteOptions, ...pairSettings, json: option.json },
  arguments: ["FILE"],
  examples: ["berth pair join /media/usb/license2.admission"],
  async run(options, { args, environment }) {
    const { data: folder, pairHost: host } = options;
    const file = checkFile(args[0], "the file of berth pair admit", "license2.admission");
    const pair = readPairOptions(options);
    if (pair === null) {
      throw new Failure(
        "pair_log is not set",
        "set it in the settings file, or with --pair-log, to the database of the other host",
      );
    }
    // Opened as root if need be; but the files in the folder must belong to the folder's owner.
    const disk = withOpenFile(file);
    const pairOptions = { ...pair, ...readPasswordSources(environment), patienceMs: 0 };
    becomeFolderOwner(folder);
    const report = await joinPair({
      disk,
      folder,
      file,
      host,
      now: wallClock(),
      uid: process.getuid?.() ?? 0,
      checkLog: (backup) => checkJoin(pairOptions, backup, wallClock),
    });
    const { appliance, licenses, registrations } = report;
    const hosts = [...(report.pair?.hosts.keys() ?? [])];
    return {
      json: { path: folder, host, appliance, hosts, licenses, registrations, seq: report.head.seq },
      text: `${folder} is now a copy of appliance ${appliance}, with ${formatCount(licenses, "license")} and ${formatCount(registrations, "registration")}.
The pair has the hosts ${hosts.join(" and ")}. Start the server on this host; berth pair status shows both.
Delete ${file}: it cannot be used again.`,
    };
  },
});

/** The same on both hosts, for the operators to compare. */
const requestFacts = (pairRequest: PairRequest): string[][] => [
  ["host", pairRequest.host],
  ["berth", pairRequest.version],
  ["made at", rfc3339(instant(pairRequest.made_at))],
  ["hardware", pairRequest.hardware.map(({ kind }) => kind).join(", ")],
  ["fingerprint", fingerprintOfRequest(pairRequest)],
];

/** How a second host joins. */
export const joinCommands = [request, admit, join];

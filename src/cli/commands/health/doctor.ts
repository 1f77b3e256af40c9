import type { HealthReport } from "../../../operations/health/finding.ts";
import { doctorReply, exitCodeFor } from "../../doctor/doctor-report.ts";
import { folderToName, formatFindings } from "../../doctor/format-findings.ts";
import { checkInstallation } from "../../doctor/installation.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { formatWrappedRows } from "../../frame/wrap-text.ts";
import { settings } from "../../serve/settings.ts";

export const doctorCommand = defineCommand({
  name: "doctor",
  isCommon: true,
  summary: "check the installation for problems and say how to fix them",
  options: { ...settings, config: option.config, json: option.json },
  hasSettingsOf: "serve",
  examples: ["berth doctor", "berth doctor --data /srv/berth --json"],
  canRunWithInvalidSettings: true,
  async run({ config, ...settings }, context) {
    const report = await checkInstallation({ ...context, config, settings });
    const dataFolder = folderToName(settings.data, context.sources.data);
    return {
      json: doctorReply(report),
      text: formatReport(report, dataFolder),
      exitCode: exitCodeFor(report),
    };
  },
});

const formatReport = ({ findings, passed }: HealthReport, dataFolder: string | null): string =>
  [
    ...(findings.length === 0 ? [] : [formatFindings(findings, dataFolder)]),
    ...(passed.length === 0
      ? []
      : [
          formatWrappedRows(
            passed.map(({ check, summary: text }) => ({ label: `ok       ${check}`, text })),
          ),
        ]),
  ].join("\n");

import { checkInstallation } from "../doctor/installation.ts";
import { exitCodeFor, worstLevel, type Finding } from "../doctor/finding.ts";
import { defineCommand } from "../frame/define-command.ts";
import { option } from "../frame/flags.ts";
import { formatTable } from "../frame/terminal.ts";
import { settings } from "../serve/settings.ts";

export const doctorCommand = defineCommand({
  name: "doctor",
  isCommon: true,
  summary: "check the installation for problems and say how to fix them",
  options: { ...settings, config: option.config, json: option.json },
  examples: ["berth doctor", "berth doctor --data /srv/berth --json"],
  canRunWithInvalidSettings: true,
  async run({ config, ...settings }, context) {
    const findings = await checkInstallation({ ...context, config, settings });
    return {
      json: { worst_level: worstLevel(findings), findings },
      text: report(findings),
      exitCode: exitCodeFor(findings),
    };
  },
});

const report = (findings: readonly Finding[]): string =>
  formatTable(
    findings.flatMap(({ level, check, finding: text, remedy }) => [
      [level, check, text],
      ...(remedy === "" ? [] : [["", "  remedy", remedy]]),
    ]),
  );

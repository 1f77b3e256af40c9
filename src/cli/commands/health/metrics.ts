import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { ALERT_RULES_TEXT, parseAlertRules } from "../../monitoring/alert-rules.ts";
import { createDashboard } from "../../monitoring/dashboard.ts";

export const metricsCommands = [
  defineCommand({
    name: "metrics rules",
    summary: "print alert rules for Prometheus",
    options: { json: option.json },
    examples: ["berth metrics rules > /etc/prometheus/berth-rules.yml"],
    run: () => ({ json: parseAlertRules(), text: { raw: ALERT_RULES_TEXT.trimEnd() } }),
  }),
  defineCommand({
    name: "metrics dashboard",
    summary: "print a dashboard for Grafana, as JSON",
    options: { json: option.json },
    examples: ["berth metrics dashboard > /etc/grafana/dashboards/berth.json"],
    run() {
      const dashboard = createDashboard();
      return { json: dashboard, text: { raw: JSON.stringify(dashboard, null, 2) } };
    },
  }),
];

import text from "./alert-rules.yml" with { type: "text" };

/** One alert rule of Prometheus. */
interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: "critical" | "warning" };
  readonly annotations: { readonly summary: string; readonly description: string };
}

/** A rule file, with comments. */
export const ALERT_RULES_TEXT = text;

export const parseAlertRules = () =>
  Bun.YAML.parse(text) as {
    readonly groups: readonly [{ readonly name: string; readonly rules: readonly AlertRule[] }];
  };

import { Command } from "../parts/command.tsx";
import { FindingAction } from "./finding-actions.tsx";
import { keyOf, type Finding } from "./findings.ts";
import { health } from "./health-texts.ts";

interface Props {
  readonly findings: readonly Finding[];
  /** Whether each finding has its remedy and its command; else only what can be done here. */
  readonly isDetailed: boolean;
}

/** Findings with their severity in words and colour, and what can be done about each. */
export const FindingList = ({ findings, isDetailed }: Props) => (
  <ul class="finding-list">
    {findings.map((finding) => (
      <li key={keyOf(finding)} class={finding.severity}>
        <div class="finding-text">
          <p>
            <strong>{health.severities[finding.severity]}</strong> {finding.summary}
          </p>
          {isDetailed && finding.remedy !== "" && <p class="muted">{finding.remedy}</p>}
          {isDetailed && finding.command !== null && <Command text={finding.command} />}
        </div>
        <FindingAction finding={finding} isMain={isDetailed} />
      </li>
    ))}
  </ul>
);

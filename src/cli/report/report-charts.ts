import type { ReportPoolReply, ReportReply } from "../../http/routes/usage/report-schema.ts";
import { WEEKDAYS } from "./figures.ts";
import { html, type Html } from "./html.ts";

const WIDTH = 720;
const HEIGHT = 120;
const TOP = 14;

/** Bars of the peak of each day against the limit of the day, and the denied episodes. */
export function drawDays(days: ReportReply["days"]): Html {
  const highest = Math.max(1, ...days.map(({ peak, limit }) => Math.max(peak, limit)));
  const step = WIDTH / Math.max(1, days.length);
  const heightOf = (value: number): number => (value / highest) * HEIGHT;
  const bars = days.map(({ day, peak, limit, episodes }, index) => {
    const x = (index * step).toFixed(1);
    const width = Math.max(0.5, step - 1).toFixed(1);
    const title = `${day}: peak ${peak} of ${limit}, denied episodes ${episodes}`;
    const denied =
      episodes === 0
        ? html``
        : html`<rect class="denied" x="${x}" y="${HEIGHT + 3}" width="${width}" height="5" />`;
    return html`<g>
      <title>${title}</title>
      <rect
        class="peak"
        x="${x}"
        y="${(HEIGHT - heightOf(peak)).toFixed(1)}"
        width="${width}"
        height="${heightOf(peak).toFixed(1)}"
      />
      <rect
        class="limit"
        x="${x}"
        y="${(HEIGHT - heightOf(limit)).toFixed(1)}"
        width="${step.toFixed(1)}"
        height="1.5"
      />
      ${denied}
    </g>`;
  });
  const [first, last] = [days[0]?.day ?? "", days.at(-1)?.day ?? ""];
  const label = `peak of each day against the limit, ${first} to ${last}`;
  return html`<svg
    viewBox="0 ${-TOP} ${WIDTH} ${HEIGHT + 24 + TOP}"
    role="img"
    aria-label="${label}"
  >
    ${bars}
    <text x="0" y="${HEIGHT + 22}">${first}</text>
    <text x="${WIDTH}" y="${HEIGHT + 22}" text-anchor="end">${last}</text>
    <text x="${WIDTH}" y="-3" text-anchor="end">${highest} slots</text>
  </svg>`;
}

const CELL = 26;
const LEFT = 40;

/** Hour by weekday: the darker, the higher the mean; each cell names its mean and its peak. */
export function drawHeatMap({ heat_map, limit, peak }: ReportPoolReply): Html {
  const full = Math.max(1, limit, peak);
  const rows = heat_map.mean.map((hours, weekday) => {
    const y = 16 + weekday * 18;
    const name = WEEKDAYS[weekday] ?? "";
    const cells = hours.map((mean, hour) => {
      const x = LEFT + hour * CELL;
      const highest = heat_map.peak[weekday]?.[hour] ?? null;
      if (mean === null || highest === null) return html``;
      const opacity = Math.min(1, mean / full).toFixed(3);
      const title = `${name} ${hour} to ${hour + 1} h: mean ${mean.toFixed(1)}, peak ${highest}`;
      return html`<g>
        <title>${title}</title>
        <rect class="cell" x="${x}" y="${y}" width="${CELL - 2}" height="16" />
        <rect
          class="heat"
          x="${x}"
          y="${y}"
          width="${CELL - 2}"
          height="16"
          fill-opacity="${opacity}"
        />
        <text class="value" x="${x + CELL / 2 - 1}" y="${y + 12}">${mean.toFixed(1)}</text>
      </g>`;
    });
    return html`<text x="0" y="${y + 12}">${name}</text>${cells}`;
  });
  const hours = Array.from(
    { length: 24 },
    (_, hour) => html`<text x="${LEFT + hour * CELL}" y="10">${hour}</text>`,
  );
  const label = "mean slots in use by weekday and hour";
  return html`<svg
    viewBox="0 0 ${LEFT + 24 * CELL} ${16 + 7 * 18}"
    role="img"
    aria-label="${label}"
  >
    ${hours}${rows}
  </svg>`;
}

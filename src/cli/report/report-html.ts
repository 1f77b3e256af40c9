import type { ReportPoolReply, ReportReply } from "../../http/routes/usage/report-schema.ts";
import {
  createZoneFormatter,
  describeDenials,
  describeMissing,
  describeOmitted,
  EPISODE_MEANING,
  formatHours,
  formatReason,
  formatSeconds,
  OUTCOMES,
  PERCENTILES,
  poolName,
} from "./figures.ts";
import { html, Html } from "./html.ts";
import { drawDays, drawHeatMap } from "./report-charts.ts";

const STYLE = new Html(`
:root { color-scheme: light; font: 15px/1.45 system-ui, sans-serif; color: #1b1f24; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.87rem; }
th, td { text-align: left; padding: 0.25rem 0.5rem; border-bottom: 1px solid #d0d7de; }
td { overflow-wrap: anywhere; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
p.note { color: #57606a; font-size: 0.87rem; }
svg { width: 100%; height: auto; display: block; font-size: 10px; }
.peak { fill: #4c78a8; } .limit { fill: #b42318; } .denied { fill: #e07b00; }
.cell { fill: #f0f3f6; } .heat { fill: #f28e2b; } .value { text-anchor: middle; font-size: 8px; }
@page { margin: 15mm; }
@media print { body { margin: 0; max-width: none; } section, tr, svg { break-inside: avoid; }
  thead { display: table-header-group; } .peak, .limit, .denied, .heat, .cell {
  print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
`);

/**
 * A report as one file without scripts and without anything from elsewhere. The policy in its head
 * forbids a browser to load or run anything, should a name ever get through as HTML.
 */
export function formatReportHtml(report: ReportReply): string {
  const formatTime = createZoneFormatter(report);
  const { from, to, known_from: knownFrom, as_of: asOf, time_zone: timeZone } = report;
  const title = `Berth report ${formatTime(from)} to ${formatTime(to)}`;
  const unknown =
    knownFrom > from ? html`<p>Nothing is known before ${formatTime(knownFrom)}.</p>` : html``;
  const missing = describeMissing(report);
  const incomplete = missing === null ? html`` : html`<p>Incomplete: ${missing}.</p>`;
  const keys = report.anonymous
    ? html`<p>Names, hosts and addresses are replaced with random keys.</p>`
    : html``;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta
          http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'"
        />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style>
          ${STYLE}
        </style>
      </head>
      <body>
        <h1>${title}</h1>
        <p>Time zone ${timeZone}. Data as of ${formatTime(asOf)}.</p>
        ${unknown}${incomplete}${keys} ${formatUtilisation(report)} ${formatDenials(report)}
        ${formatPeople(report)} ${formatIdle(report)} ${formatOther(report)}
        ${
          describeOmitted(report) === null
            ? html``
            : html`<p class="note">${describeOmitted(report) ?? ""}; CSV and JSON have more.</p>`
        }
      </body>
    </html>`;
  return `${page.text}\n`;
}

/** So many rows of each list: a page with more can be neither read nor printed. */
const SHOWN = 500;

/** Also a number with a fixed number of decimals, which is a text. */
const isNumeric = (value: string | number): boolean =>
  typeof value === "number" || /^\d+\.\d$/.test(value);

type Column<T> = readonly [title: string, read: (row: T) => string | number];

function formatTableHtml<T>(columns: readonly Column<T>[], rows: readonly T[]): Html {
  if (rows.length === 0) return html`<p>None.</p>`;
  const [sample] = rows;
  const head = columns.map(([title, read]) => {
    const isNumber = sample !== undefined && isNumeric(read(sample));
    return isNumber ? html`<th class="n">${title}</th>` : html`<th>${title}</th>`;
  });
  const body = rows.slice(0, SHOWN).map((row) => {
    const cells = columns.map(([, read]) => {
      const value = read(row);
      return isNumeric(value) ? html`<td class="n">${value}</td>` : html`<td>${value}</td>`;
    });
    return html`<tr>
      ${cells}
    </tr>`;
  });
  const hidden = rows.length - SHOWN;
  const more = hidden > 0 ? html`<p class="note">and ${hidden} more rows</p>` : html``;
  return html`<table>
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${body}
      </tbody>
    </table>
    ${more}`;
}

function formatUtilisation({ pools, days }: ReportReply): Html {
  const table = formatTableHtml<ReportPoolReply>(
    [
      ["Product", poolName],
      ["Limit", ({ limits, limit }) => limits.map((step) => step.limit).join(", ") || limit],
      ["Peak", ({ peak }) => peak],
      ["p95", ({ p95 }) => p95],
      ["p99", ({ p99 }) => p99],
      ["Mean", ({ mean }) => mean.toFixed(1)],
      ["Hours full", (pool) => formatHours(pool.hours_at_limit)],
      ["Observed hours", (pool) => formatHours(pool.observed_hours)],
      ["Sessions", ({ sessions }) => sessions],
      ["People", ({ people }) => people],
      ["Denied", ({ episodes }) => episodes],
    ],
    pools,
  );
  const charts = pools
    .filter(({ peak, episodes }) => peak > 0 || episodes > 0)
    .map((pool) => {
      const ofPool = days.filter(
        ({ product, feature }) => product === pool.product && feature === pool.feature,
      );
      return html`<section>
        <h3>${poolName(pool)}</h3>
        ${drawDays(ofPool)} ${drawHeatMap(pool)}
      </section>`;
    });
  return html`<h2>Slots in use</h2>
    ${table}
    <p class="note">${PERCENTILES}</p>
    <p class="note">
      Blue: peak of each day. Red: limit. Orange: days with denied episodes, and the mean by hour.
    </p>
    ${charts}`;
}

function formatDenials(report: ReportReply): Html {
  const formatTime = createZoneFormatter(report);
  const reasons = formatTableHtml<ReportReply["denials"]["reasons"][number]>(
    [
      ["Product", poolName],
      ["Why", formatReason],
      ["Episodes", ({ episodes }) => episodes],
      ["People", ({ people }) => people],
    ],
    report.denials.reasons,
  );
  const episodes = formatTableHtml<ReportReply["episodes"][number]>(
    [
      ["First", (row) => formatTime(row.first_at)],
      ["User", ({ user }) => user],
      ["Product", poolName],
      ["Why", formatReason],
      ["Attempts", ({ attempts }) => attempts],
      ["Outcome", ({ outcome }) => OUTCOMES[outcome]],
      ["Waited", (row) => formatSeconds(row.waited_seconds)],
    ],
    report.episodes.toReversed(),
  );
  return html`<h2>Denied episodes</h2>
    <p>${describeDenials(report)}.</p>
    <p class="note">${EPISODE_MEANING}</p>
    ${reasons}
    <h3>Who was turned away</h3>
    ${episodes}`;
}

const formatPeople = ({ people }: ReportReply): Html =>
  html`<h2>People</h2>
    ${formatTableHtml<ReportReply["people"][number]>(
      [
        ["Person", ({ person }) => person],
        ["Product", poolName],
        ["Slot hours", (row) => formatHours(row.slot_hours)],
        ["Sessions", ({ sessions }) => sessions],
        ["Borrows", ({ borrows }) => borrows],
        ["Denied", ({ episodes }) => episodes],
      ],
      people,
    )}`;

function formatIdle(report: ReportReply): Html {
  const formatTime = createZoneFormatter(report);
  const table = formatTableHtml<ReportReply["idle"][number]>(
    [
      ["User", ({ user }) => user],
      ["Product", ({ product }) => product],
      ["Host", ({ host }) => host],
      ["Held since", (row) => formatTime(row.held_since)],
      ["Last seen", (row) => formatTime(row.last_seen_at)],
      ["Idle days", (row) => row.idle_days],
      ["Borrowed until", (row) => formatTime(row.borrowed_until)],
    ],
    report.idle,
  );
  return html`<h2>Idle holders</h2>
    <p class="note">
      They hold a slot now; no consumption and no feature for ${report.idle_days} days.
    </p>
    ${table}`;
}

function formatOther(report: ReportReply): Html {
  const formatTime = createZoneFormatter(report);
  const borrows = formatTableHtml<ReportReply["borrows"][number]>(
    [
      ["Product", ({ product }) => product],
      ["Borrows", (row) => row.borrows],
      ["People", ({ people }) => people],
      ["Hours", (row) => formatHours(row.borrowed_hours)],
      ["Longest", (row) => formatHours(row.longest_hours)],
    ],
    report.borrows,
  );
  const consumption = formatTableHtml<ReportReply["consumption"][number]>(
    [
      ["Product", poolName],
      ["License", (row) => row.license_id],
      ["Counted", ({ counted }) => counted],
      ["Total", ({ total }) => total],
      ["Maximum", ({ max }) => max ?? "unlimited"],
      ["Overage", ({ overage }) => overage],
      ["People", ({ people }) => people],
    ],
    report.consumption,
  );
  const ending = formatTableHtml<ReportReply["ending"][number]>(
    [
      ["Product", poolName],
      ["License", (row) => row.license_id],
      ["Slots", ({ slots }) => slots],
      ["Ends", (row) => formatTime(row.ends_at)],
    ],
    report.ending,
  );
  return html`<h2>Borrows</h2>
    ${borrows}
    <h2>Consumption</h2>
    ${consumption}
    <h2>Licenses ending</h2>
    ${ending}`;
}

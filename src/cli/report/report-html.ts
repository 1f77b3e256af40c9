import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import {
  createZoneFormatter,
  describeDenials,
  describeMissing,
  describeOmitted,
  EPISODE_MEANING,
  PERCENTILES,
  poolName,
} from "./figures.ts";
import { html, Html } from "./html.ts";
import { reportTables } from "./report-tables.ts";
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
export function formatReportHtml(reply: ReportReply): string {
  const report = { ...reply, tables: reportTables(reply) };
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

type Row = Readonly<Record<string, string | number>>;

/** Also a number with a fixed number of decimals, which is a text. */
const isNumeric = (value: string | number): boolean =>
  typeof value === "number" || /^\d+\.\d$/.test(value);

function formatTableHtml(rows: readonly Row[]): Html {
  const [sample] = rows;
  if (sample === undefined) return html`<p>None.</p>`;
  const head = Object.entries(sample).map(([title, value]) =>
    isNumeric(value) ? html`<th class="n">${title}</th>` : html`<th>${title}</th>`,
  );
  const body = rows.slice(0, SHOWN).map((row) => {
    const cells = Object.values(row).map((value) =>
      isNumeric(value) ? html`<td class="n">${value}</td>` : html`<td>${value}</td>`,
    );
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

type Shown = ReportReply & { readonly tables: ReturnType<typeof reportTables> };

function formatUtilisation({ pools, days, tables }: Shown): Html {
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
    ${formatTableHtml(tables.pools)}
    <p class="note">${PERCENTILES}</p>
    <p class="note">
      Blue: peak of each day. Red: limit. Orange: days with denied episodes, and the mean by hour.
    </p>
    ${charts}`;
}

const formatDenials = (report: Shown): Html =>
  html`<h2>Denied episodes</h2>
    <p>${describeDenials(report)}.</p>
    <p class="note">${EPISODE_MEANING}</p>
    ${formatTableHtml(report.tables.reasons)}
    <h3>Who was turned away</h3>
    ${formatTableHtml(report.tables.episodes)}`;

const formatPeople = ({ tables }: Shown): Html =>
  html`<h2>People</h2>
    ${formatTableHtml(tables.people)}`;

const formatIdle = (report: Shown): Html =>
  html`<h2>Idle holders</h2>
    <p class="note">
      They hold a slot now; no consumption and no feature for ${report.idle_days} days.
    </p>
    ${formatTableHtml(report.tables.idle)}`;

const formatOther = ({ tables }: Shown): Html =>
  html`<h2>Borrows</h2>
    ${formatTableHtml(tables.borrows)}
    <h2>Consumption</h2>
    ${formatTableHtml(tables.consumption)}
    <h2>Licenses ending</h2>
    ${formatTableHtml(tables.ending)}`;

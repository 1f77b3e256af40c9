interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface PanelSpec {
  readonly title: string;
  readonly type: "timeseries" | "stat";
  readonly unit: string;
  readonly width: number;
  readonly queries: readonly Query[];
}

const HEIGHT = 8;
const COLUMNS = 24;

const SERVER = 'job=~"$job",instance=~"$instance"';
const PRODUCT = `${SERVER},product=~"$product"`;

const query = (expr: string, legend: string): Query => ({ expr, legend });

const series = (title: string, unit: string, ...queries: readonly Query[]): PanelSpec => ({
  title,
  type: "timeseries",
  unit,
  width: 12,
  queries,
});

const stat = (title: string, unit: string, expr: string, legend: string): PanelSpec => ({
  title,
  type: "stat",
  unit,
  width: 6,
  queries: [query(expr, legend)],
});

const LICENSE = "{{product}} {{license}}";
const FEATURE = "{{product}} {{feature}}";

const PANELS: readonly PanelSpec[] = [
  stat("Version", "string", `berth_build_info{${SERVER}}`, "{{version}}"),
  stat(
    "License ends in",
    "s",
    `berth_license_end_timestamp_seconds{${PRODUCT}} - on (job, instance) group_left () ` +
      `berth_server_time_seconds{${SERVER}}`,
    LICENSE,
  ),
  stat("Cannot write", "bool_yes_no", `berth_read_only{${SERVER}}`, "{{instance}}"),
  stat("Age of the backup", "s", `berth_backup_age_seconds{${SERVER}}`, "{{instance}}"),
  series(
    "Slots of licenses",
    "short",
    query(`berth_license_slots_peak{${PRODUCT}}`, `${LICENSE} peak`),
    query(`berth_license_slots_in_use{${PRODUCT}}`, `${LICENSE} in use`),
    query(`berth_license_slots_borrowed{${PRODUCT}}`, `${LICENSE} borrowed`),
    query(`berth_license_slots{${PRODUCT}}`, `${LICENSE} slots`),
  ),
  series(
    "Denied episodes per hour",
    "short",
    query(`increase(berth_denied_episodes_total{${PRODUCT}}[1h])`, "{{product}}"),
    query(`increase(berth_feature_denied_episodes_total{${PRODUCT}}[1h])`, FEATURE),
  ),
  series(
    "How denied episodes end, per hour",
    "short",
    query(`increase(berth_denied_episodes_ended_total{${PRODUCT}}[1h])`, "{{product}} {{outcome}}"),
  ),
  series(
    "Queues and reservations",
    "short",
    query(`berth_queue_waiting{${PRODUCT}}`, "{{product}} waiting"),
    query(`berth_queue_held{${PRODUCT}}`, "{{product}} held"),
    query(`berth_slots_reserved_idle{${PRODUCT}}`, "{{product}} reserved, idle"),
    query(
      `increase(berth_queue_places_left_total{${PRODUCT}}[1h])`,
      "{{product}} {{cause}} per hour",
    ),
  ),
  series(
    "Waits until a slot was had",
    "s",
    ...[0.5, 0.9].map((quantile) =>
      query(
        `histogram_quantile(${quantile}, sum by (product, le) ` +
          `(rate(berth_queue_wait_duration_seconds_bucket{${PRODUCT}}[1h])))`,
        `{{product}} ${quantile * 100} %`,
      ),
    ),
  ),
  series(
    "Slots of features",
    "short",
    query(`berth_feature_slots_peak{${PRODUCT}}`, `${FEATURE} peak`),
    query(`berth_feature_slots{${PRODUCT}}`, `${FEATURE} slots`),
  ),
  series(
    "Slots taken and ended per minute",
    "short",
    query(`60 * rate(berth_license_grants_total{${PRODUCT}}[5m])`, `${LICENSE} taken`),
    query(`60 * rate(berth_license_releases_total{${PRODUCT}}[5m])`, `${LICENSE} {{cause}}`),
  ),
  series(
    "Refusals per minute",
    "short",
    query(`60 * rate(berth_refusals_total{${SERVER}}[5m])`, "{{product}} {{scope}} {{code}}"),
  ),
  series(
    "Consumption",
    "short",
    query(`berth_license_consumption{${PRODUCT}}`, LICENSE),
    query(`berth_license_consumption_limit{${PRODUCT}}`, `${LICENSE} limit`),
    query(`berth_feature_consumption{${PRODUCT}}`, FEATURE),
    query(`berth_feature_consumption_limit{${PRODUCT}}`, `${FEATURE} limit`),
  ),
  series(
    "Requests per second by route",
    "reqps",
    query(
      `sum by (route, status) (rate(berth_http_request_duration_seconds_count{${SERVER}}[5m]))`,
      "{{route}} {{status}}",
    ),
  ),
  series(
    "Request duration, 99 %",
    "s",
    query(
      "histogram_quantile(0.99, sum by (route, le) " +
        `(rate(berth_http_request_duration_seconds_bucket{${SERVER}}[5m])))`,
      "{{route}}",
    ),
  ),
  series(
    "Duration of journal syncs",
    "s",
    ...[0.5, 0.99].map((quantile) =>
      query(
        `histogram_quantile(${quantile}, sum by (instance, le) ` +
          `(rate(berth_journal_sync_duration_seconds_bucket{${SERVER}}[5m])))`,
        `{{instance}} ${quantile * 100} %`,
      ),
    ),
  ),
  series(
    "Disk",
    "bytes",
    query(`berth_disk_free_bytes{${SERVER}}`, "{{instance}} free"),
    query(`berth_disk_required_bytes{${SERVER}}`, "{{instance}} required"),
    query(`berth_journal_size_bytes{${SERVER}}`, "{{instance}} journal"),
  ),
  series(
    "Clock",
    "s",
    query(`berth_clock_offset_seconds{${SERVER}}`, "{{instance}} offset"),
    query(`berth_checkpoint_age_seconds{${SERVER}}`, "{{instance}} age of the checkpoint"),
  ),
  series(
    "Pair",
    "short",
    query(`berth_pair_leader{${SERVER}}`, "{{instance}} leads"),
    query(`berth_pair_lines_behind{${SERVER}}`, "{{instance}} lines behind"),
    query(
      `changes(berth_pair_epoch{${SERVER}}[1h])`,
      "{{instance}} changes of the leader per hour",
    ),
  ),
  series(
    "Process",
    "short",
    query(`rate(berth_process_cpu_seconds_total{${SERVER}}[5m])`, "{{instance}} processors"),
    query(`berth_process_resident_memory_bytes{${SERVER}} / 2^20`, "{{instance}} memory, MiB"),
  ),
];

const DATASOURCE = { type: "prometheus", uid: "${datasource}" };

function layOut(panels: readonly PanelSpec[]) {
  let x = 0;
  let y = 0;
  return panels.map(({ title, type, unit, width, queries }, index) => {
    if (x + width > COLUMNS) {
      x = 0;
      y += HEIGHT;
    }
    const gridPos = { x, y, w: width, h: HEIGHT };
    x += width;
    return {
      id: index + 1,
      title,
      type,
      datasource: DATASOURCE,
      gridPos,
      fieldConfig: { defaults: { unit, min: unit === "s" ? null : 0 }, overrides: [] },
      options: type === "stat" ? { textMode: unit === "string" ? "name" : "auto" } : {},
      targets: queries.map(({ expr, legend }, target) => ({
        refId: String.fromCodePoint(0x41 + target),
        datasource: DATASOURCE,
        expr,
        legendFormat: legend,
      })),
    };
  });
}

const variable = (name: string, label: string, expr: string) => ({
  name,
  label,
  type: "query",
  datasource: DATASOURCE,
  query: { query: expr, refId: name },
  refresh: 2,
  includeAll: true,
  multi: true,
  current: { text: "All", value: "$__all" },
});

/** A dashboard for Grafana. The data source is a variable, so that any Grafana can load it. */
export const createDashboard = () => ({
  id: null,
  uid: "berth",
  title: "Berth",
  tags: ["berth", "licenses"],
  timezone: "browser",
  schemaVersion: 39,
  version: 1,
  editable: true,
  refresh: "1m",
  time: { from: "now-24h", to: "now" },
  templating: {
    list: [
      { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
      variable("job", "Job", "label_values(berth_build_info, job)"),
      variable("instance", "Server", 'label_values(berth_build_info{job=~"$job"}, instance)'),
      variable("product", "Product", `label_values(berth_license_slots{${SERVER}}, product)`),
    ],
  },
  panels: layOut(PANELS),
});

import { computed } from "@preact/signals";
import { readMeta } from "./page-meta.ts";
import { serverStatus } from "./status-stream.ts";

/** The name of the site: from the page until the first status, which follows its changes. */
export const siteName = computed(() => serverStatus.value?.site_name ?? readMeta("berth-site"));

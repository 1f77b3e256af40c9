import { signal } from "@preact/signals";
import { formatDateTime, nameTimeZone } from "../format.ts";
import { printed } from "./parts-texts.ts";

const note = signal("");

// Set before the browser lays out the paper: a signal changes its text at once.
addEventListener("beforeprint", () => {
  const now = new Date().toISOString();
  note.value = printed(formatDateTime(now), nameTimeZone());
});

/** On paper, says when the page was printed; the header beside it names the site. */
export const PrintNote = () => <p class="print-note">{note}</p>;

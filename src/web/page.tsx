import { render } from "preact";
import { Frame } from "./frame.tsx";
import { PrintNote } from "./parts/print-note.tsx";
import { watchStatus } from "./status-stream.ts";

const root = document.querySelector("#page");
if (root !== null) {
  // The HTML file contains the same frame, empty, for the time until the script runs.
  root.replaceChildren();
  render(
    <>
      <PrintNote />
      <Frame />
    </>,
    root,
  );
  void watchStatus();
}

import { render } from "preact";
import { Frame } from "./frame.tsx";
import { watchStatus } from "./status-stream.ts";

const root = document.querySelector("#page");
if (root !== null) {
  // What the file itself showed until now was the same frame, empty.
  root.replaceChildren();
  render(<Frame />, root);
  void watchStatus();
}

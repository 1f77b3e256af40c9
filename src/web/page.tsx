import { render } from "preact";
import { Frame } from "./frame.tsx";
import { watch } from "./live.ts";

const root = document.querySelector("#page");
if (root !== null) {
  // What the file itself showed until now was the same frame, empty.
  root.replaceChildren();
  render(<Frame />, root);
  void watch();
}

import { render } from "preact";
import { Docs } from "./docs/docs.tsx";
import { PrintNote } from "./parts/print-note.tsx";

const root = document.querySelector("#page");
if (root !== null) {
  root.replaceChildren();
  render(
    <>
      <PrintNote />
      <Docs />
    </>,
    root,
  );
}

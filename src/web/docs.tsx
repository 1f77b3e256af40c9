import { render } from "preact";
import { Docs } from "./docs/docs.tsx";

const root = document.querySelector("#page");
if (root !== null) {
  root.replaceChildren();
  render(<Docs />, root);
}

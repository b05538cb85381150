// The comparison with an older model: layers that did not change can be hidden.

import { part } from "./dom.js";

/** Makes the box work that hides what is the same. */
export function showChanges() {
  const box = part("changes-only");
  if (!box) return;
  const apply = () => part("changes-layers").classList.toggle("hides-same", box.checked);
  box.addEventListener("change", apply);
  apply();
}

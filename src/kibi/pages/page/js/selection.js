// The node that the views show together: the plan, the graph, the costs.

const listeners = [];
let current = -1;

/** Calls a function with the selected node, -1 for none, and the view that selected it, whenever that changes. */
export function onSelection(listener) {
  listeners.push(listener);
}

/** Selects a node; the view that does so names itself. */
export function select(node, view) {
  if (node === current) return;
  current = node;
  for (const listener of listeners) listener(node, view);
}

/** The selected node; -1 for none. */
export function selected() {
  return current;
}

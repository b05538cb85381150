// The time of the plan: which node runs at each step, and how wide the step is drawn.

import { record } from "./record.js";

/** For each step the node that runs and its number among the node's steps; and where each step begins, from 0 to 1. */
export function followRuns() {
  const nodes = [];
  const rows = [];
  const edges = [0];
  const share = 1 / Math.max(record.nodes.length, 1);
  for (const [node, first, count] of record.plan.runs) {
    const width = share / record.nodes[node].steps;
    for (let k = 0; k < count; k += 1) {
      nodes.push(node);
      rows.push(first + k);
      edges.push(edges.at(-1) + width);
    }
  }
  return { nodes, rows, edges, count: nodes.length };
}

/** The buffers of the plan as objects. */
export function listBuffers() {
  return record.plan.buffers.map(([tensor, firstRow, rows, offset, size, start, end, nodes, reads], index) =>
    ({ index, tensor, firstRow, rows, offset, size, start, end, nodes, reads }));
}

// The record of the report, and what the views look up in it.

import { part } from "./dom.js";

export const record = JSON.parse(part("record").textContent);

/** The facts of a tensor. */
export function tensorOf(index) {
  return record.tensors[String(index)];
}

/** The first output of a node. */
export function outputOf(node) {
  return tensorOf(record.nodes[node].outputs[0]);
}

/** A node's number in the model file and its operator. */
export function nodeLabel(number) {
  const node = record.nodes[number];
  return node.source >= 0 ? `${node.source} ${node.op}` : `input ${-1 - node.source}`;
}

/** Shape and type: "1 × 28 × 28 × 8 int8". */
export function formOf(tensor) {
  return `${tensor.shape.join(" × ") || "scalar"} ${tensor.type}`;
}
